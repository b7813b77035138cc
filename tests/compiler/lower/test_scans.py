from collections.abc import Callable
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


@given(data=st.data())
@settings(max_examples=6)
def test_scans(
    agree: Callable[..., Any],
    tensors_of: Callable[..., st.SearchStrategy[torch.Tensor]],
    data: st.DataObject,
) -> None:
    x = data.draw(tensors_of(dtypes=(*FLOATS, *INTEGERS), least_rank=1))
    dim = data.draw(st.integers(-x.dim(), x.dim() - 1))

    def run(x: torch.Tensor) -> tuple[Any, ...]:
        out = [x.cumsum(dim), x.cumprod(dim)]
        if x.numel():
            out += [*x.cummax(dim), *x.cummin(dim)]
        if x.dtype in (torch.float32, torch.float64):
            out.append(x.logcumsumexp(dim))
        return tuple(out)

    agree(run, x, ulps=8)


def test_a_scan_of_truth_counts(agree: Callable[..., Any]) -> None:
    agree(lambda x: (x.cumsum(0), x.int().cumsum(0)), torch.tensor([True, False, True]))
    agree(lambda x: x.cumsum(0), torch.tensor(3.0))
    agree(lambda x: x.cumsum(0), torch.ones(1000).half(), ulps=0)
