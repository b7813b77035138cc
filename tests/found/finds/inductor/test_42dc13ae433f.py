"""inductor: mismatch value

Seen: mismatch value: 1 of 1 elements, first at (): 0, not 3
At fault: the code of the backend inductor.
Versions: python 3.11.7, torch 2.13.0+cpu, triton 3.7.1, numpy 2.4.6.
Found by `tilewright hunt --subject inductor`, seed 1000100.
"""

import torch
import torch.nn.functional as F  # noqa: F401 - a program may use it
from torch import inf, nan  # noqa: F401 - a program may use it


def program(x0):
    v2 = torch.argmin(x0)
    return v2,


def inputs():
    x0 = torch.tensor([4, 4, 3, 0, 3, 4, 2, 3, 2, 3, 1, 1, 1, 4, 3, 1, 1, 3, 4, 3, 1, 4, 1, 4, 4, 1, 4, 4], dtype=torch.uint8)
    x0 = x0.as_strided((2, 7, 1, 2), (14, 2, 2, 1), 0)
    return [x0]


EXPECTED = [
    (torch.tensor([3], dtype=torch.int64), (), (), 0.0, None),
    (torch.tensor([4, 4, 3, 0, 3, 4, 2, 3, 2, 3, 1, 1, 1, 4, 3, 1, 1, 3, 4, 3, 1, 4, 1, 4, 4, 1, 4, 4], dtype=torch.uint8), (2, 7, 1, 2), (14, 2, 2, 1), 0.0, None),
]
"""Of each result, and of each input after the run: elements, shape, strides,
how far rounding may move it, and which elements count (None: all)."""


def test_42dc13ae433f():
    given = inputs()
    compiled = torch.compile(program, backend='inductor')
    with torch.no_grad():
        results = [*compiled(*given), *given]
    got = [value for value in results if isinstance(value, torch.Tensor)]
    assert len(got) == len(EXPECTED)
    for value, (flat, shape, strides, slack, keep) in zip(got, EXPECTED):
        value = value.cpu()
        assert value.dtype == flat.dtype
        assert tuple(value.shape) == shape
        if value.numel():
            sizes = zip(value.shape, value.stride(), strides)
            assert all(n == 1 or a == b for n, a, b in sizes), value.stride()
        value = value.contiguous().flatten()
        if keep is not None:
            value, flat = value[keep], flat[keep]
        torch.testing.assert_close(
            value, flat, rtol=0, atol=slack, equal_nan=True
        )
