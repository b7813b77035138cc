"""29 models against float64, in inference and in training."""

import importlib.util

import pytest

from benchmarks.model_zoo import CASES
from benchmarks.models_correct import check

QUICK = ("gpt2", "resnet18")
"""Run with every test; all others are slow."""


def cases(quick: tuple[str, ...]) -> list[object]:
    return [
        pytest.param(
            name,
            marks=[
                *([] if name in quick else [pytest.mark.slow]),
                pytest.mark.skipif(
                    importlib.util.find_spec(case.family) is None,
                    reason=f"{case.family} is not installed",
                ),
            ],
        )
        for name, case in CASES.items()
    ]


@pytest.mark.parametrize("name", cases(QUICK))
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_inference(name: str) -> None:
    assert not check(CASES[name]).faults


@pytest.mark.parametrize("name", cases(()))
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_training(name: str) -> None:
    assert not check(CASES[name], train=True).faults
