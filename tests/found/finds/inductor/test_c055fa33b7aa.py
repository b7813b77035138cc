"""inductor: error BackendCompilerFailed: RuntimeError: Not all inputs to pattern f

Seen: error BackendCompilerFailed: backend='inductor' raised: RuntimeError: Not all inputs to pattern found in match.kwargs. Perhaps one of the inputs is unused? argname=slice_shape, flat_argnames=['slice_shape'], missing_argnames=['slice_shape'], match.kwargs={} Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this 
At fault: the code of the backend inductor.
Versions: python 3.11.7, torch 2.13.0+cpu, triton 3.7.1, numpy 2.4.6.
Found by `tilewright hunt --subject inductor`, seed 6000008.
"""

import torch
import torch.nn.functional as F  # noqa: F401 - a program may use it
from torch import inf, nan  # noqa: F401 - a program may use it


def program(x1):
    v1 = torch.arange(9)[torch.randperm(9)].sum() + 1
    return v1,


def inputs0():
    x1 = torch.tensor([4.0], dtype=torch.float32)
    x1 = x1.as_strided((), (), 0)
    return [x1]


CALLS = [inputs0]
EXPECTED = [
    [
        (torch.tensor([37], dtype=torch.int64), (), (), 0.0, None),
        (torch.tensor([4.0], dtype=torch.float32), (), (), 0.0, None),
    ],
]
"""Of each call, of each result and each argument after the run: elements,
shape, strides, how far rounding may move it, and which elements count
(None: all)."""


def test_c055fa33b7aa():
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
