"""inductor: mismatch value

Seen: mismatch value: 1 of 3 elements, first at (0,): inf, not nan
At fault: the code of the backend inductor.
Versions: python 3.11.7, torch 2.13.0+cpu, triton 3.7.1, numpy 2.4.6.
Found by `tilewright hunt --subject inductor`, seed 5000019.
"""

import torch
import torch.nn.functional as F  # noqa: F401 - a program may use it
from torch import inf, nan  # noqa: F401 - a program may use it


def program(x0):
    v0 = x0 // 2.0
    return v0,


def inputs():
    x0 = torch.tensor([inf, 0.0, 3.4028234663852886e+38], dtype=torch.float32)
    return [x0]


EXPECTED = [
    (torch.tensor([nan, 0.0, 1.7014117331926443e+38], dtype=torch.float32), (3,), (1,), torch.tensor([0.0, 0.0, 3.2451854398702017e+32], dtype=torch.float64), None),
    (torch.tensor([inf, 0.0, 3.4028234663852886e+38], dtype=torch.float32), (3,), (1,), 0.0, None),
]
"""Of each result, and of each input after the run: elements, shape, strides,
how far rounding may move it, and which elements count (None: all)."""


def test_0f0e8ada2254():
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
        off = (value.double() - flat.double()).abs()
        both_nan = value.isnan() & flat.isnan()
        right = (value == flat) | both_nan | (off <= slack)
        if keep is not None:
            right |= ~torch.tensor(keep)
        assert right.all(), (value[~right], flat[~right])
