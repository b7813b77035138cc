"""29 models against float64, in inference and in training."""

import importlib.util

import pytest

from benchmarks.model_zoo import CASES
from benchmarks.models_correct import check

QUICK = ("gpt2",)
"""Run with every test; all others are slow."""

DEEP = (
    "resnet50",
    "efficientnet_b0",
    "mobilenetv3_small_100",
    "swin_tiny_patch4_window7_224",
    "densenet121",
    "ghostnet_100",
    "regnetx_002",
    "res2net50_26w_4s",
)
"""Hundreds of kernels in training: benchmarks/models_correct.py trains them."""


def cases(quick: tuple[str, ...], left_out: tuple[str, ...] = ()) -> list[object]:
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
        if name not in left_out
    ]


@pytest.mark.parametrize("name", cases(QUICK))
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_inference(name: str) -> None:
    assert not check(CASES[name]).faults


@pytest.mark.parametrize("name", cases((), DEEP))
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_training(name: str) -> None:
    assert not check(CASES[name], train=True).faults
