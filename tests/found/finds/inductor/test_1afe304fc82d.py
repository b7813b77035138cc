"""inductor: mismatch dtype

Seen: mismatch dtype: torch.float32, not torch.float16
At fault: the code of the backend inductor.
Versions: python 3.11.7, torch 2.13.0+cpu, triton 3.7.1, numpy 2.4.6.
Found by `tilewright hunt --subject inductor`, seed 700004.
"""

import torch
import torch.nn.functional as F  # noqa: F401 - a program may use it
from torch import inf, nan  # noqa: F401 - a program may use it


def program(x0, x1):
    v14 = torch.ldexp(x1, x0)
    return v14,


def inputs0():
    x0 = torch.tensor([4.0], dtype=torch.float16)
    x0 = x0.as_strided((), (), 0)
    x1 = torch.tensor([4], dtype=torch.int32)
    x1 = x1.as_strided((), (), 0)
    return [x0, x1]


CALLS = [inputs0]
EXPECTED = [
    [
        (torch.tensor([64.0], dtype=torch.float16), (), (), torch.tensor([1.00006103515625], dtype=torch.float64), None),
        (torch.tensor([4.0], dtype=torch.float16), (), (), 0.0, None),
        (torch.tensor([4], dtype=torch.int32), (), (), 0.0, None),
    ],
]
"""Of each call, of each result and each argument after the run: elements,
shape, strides, how far rounding may move it, and which elements count
(None: all)."""


def test_1afe304fc82d():
    compiled = torch.compile(program, backend='inductor')
    for inputs, expected in zip(CALLS, EXPECTED):
        given = inputs()
        with torch.no_grad():
            results = [*compiled(*given), *given]
        got = [one for one in results if isinstance(one, torch.Tensor)]
        assert len(got) == len(expected)
        for value, wanted in zip(got, expected):
            if isinstance(wanted, str):
                assert value == wanted
                continue
            flat, shape, strides, slack, keep = wanted
            value = value.detach().cpu()
            assert value.dtype == flat.dtype
            assert tuple(value.shape) == shape
            if value.numel():
                sizes = zip(value.shape, value.stride(), strides)
                assert all(n == 1 or a == b for n, a, b in sizes), value.stride()
            value = value.contiguous().flatten()
            off = (value.double() - flat.double()).abs()
            both_nan = value.isnan() & flat.isnan()
            right = (value == flat) | (off <= slack)
            if isinstance(slack, float):
                right &= value.signbit() == flat.signbit()
            right |= both_nan
            if keep is not None:
                right |= ~torch.tensor(keep)
            assert right.all(), (value[~right], flat[~right])
