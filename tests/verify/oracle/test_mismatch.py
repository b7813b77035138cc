"""Each kind of difference is told."""

import torch

from verify.oracle.mismatch import compare
from verify.oracle.rounding import expected


def test_kinds() -> None:
    def build() -> list[torch.Tensor]:
        return [torch.arange(6.0).reshape(2, 3)]

    wanted = expected(lambda x: (x + 1,), build)
    right = build()[0] + 1
    cases = {
        "count": [right],
        "shape": [right.reshape(3, 2), *build()],
        "dtype": [right.double(), *build()],
        "strides": [right.t().contiguous().t(), *build()],
        "value": [right + 1, *build()],
    }
    for kind, got in cases.items():
        found = compare(wanted, got)
        assert found is not None and found.kind == kind
    changed = [right, build()[0] + 5]
    found = compare(wanted, changed)
    assert found is not None and found.output == 1


def test_nan_equals_nan_and_zeros_have_signs() -> None:
    def build() -> list[torch.Tensor]:
        return [torch.tensor([float("nan"), 0.0])]

    wanted = expected(lambda x: (x.clone(),), build)
    assert compare(wanted, [build()[0], *build()]) is None
    negative = torch.tensor([float("nan"), -0.0])
    assert compare(wanted, [negative, *build()]) is not None
