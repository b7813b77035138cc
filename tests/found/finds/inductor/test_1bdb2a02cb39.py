"""inductor: mismatch aliasing

Seen: mismatch aliasing: 0 and 1 share memory
At fault: decompositions.
Versions: python 3.11.7, torch 2.13.0+cpu, triton 3.7.1, numpy 2.4.6.
Found by `tilewright hunt --subject inductor`, seed 6000009.
"""

import torch
import torch.nn.functional as F  # noqa: F401 - a program may use it
from torch import inf, nan  # noqa: F401 - a program may use it


def program(x0):
    v1 = F.channel_shuffle(x0, 1)
    return v1,


def inputs0():
    x0 = torch.tensor([4.0], dtype=torch.float32)
    x0 = x0.as_strided((1, 1, 1), (1, 1, 1), 0)
    return [x0]


CALLS = [inputs0]
EXPECTED = [
    [
        (torch.tensor([4.0], dtype=torch.float32), (1, 1, 1), (1, 1, 1), torch.tensor([7.62939453125e-06], dtype=torch.float64), None),
        (torch.tensor([4.0], dtype=torch.float32), (1, 1, 1), (1, 1, 1), 0.0, None),
    ],
]
"""Of each call, of each result and each argument after the run: elements,
shape, strides, how far rounding may move it, and which elements count
(None: all)."""


def test_1bdb2a02cb39():
    compiled = torch.compile(program, backend='inductor', options={'fallback_random': True})
    for inputs, expected in zip(CALLS, EXPECTED):
        given = inputs()
        with torch.no_grad():
            results = [*compiled(*given), *given]
        got = [one for one in results if isinstance(one, torch.Tensor)]
        shared = [[]][CALLS.index(inputs)]
        where = [
            one.untyped_storage().data_ptr()
            if isinstance(one, torch.Tensor) and one.numel()
            else None
            for one in got
        ]
        found = [(where.index(w), n) for n, w in enumerate(where)
                 if w is not None and where.index(w) < n]
        assert sorted(found) == shared, found
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
