"""inductor: mismatch strides

Seen: mismatch strides: (3, 1), not (1, 2)
At fault: the code of the backend inductor.
Versions: python 3.11.7, torch 2.13.0+cpu, triton 3.7.1, numpy 2.4.6.
Found by `tilewright hunt --subject inductor`, seed 107.
"""

import torch
import torch.nn.functional as F  # noqa: F401 - a program may use it
from torch import inf, nan  # noqa: F401 - a program may use it


def program(x0, x1):
    v2 = torch.logical_and(x0, x1)
    return v2,


def inputs():
    x0 = torch.tensor([4.0], dtype=torch.float32)
    x0 = x0.as_strided((), (), 0)
    x1 = torch.tensor([4.0, -4.0, -2.0, 2.0], dtype=torch.float32)
    x1 = x1.as_strided((2, 3), (1, 1), 0)
    return [x0, x1]


EXPECTED = [
    (torch.tensor([True, True, True, True, True, True], dtype=torch.bool), (2, 3), (1, 2), 0.0, None),
    (torch.tensor([4.0], dtype=torch.float32), (), (), 0.0, None),
    (torch.tensor([4.0, -4.0, -2.0, -4.0, -2.0, 2.0], dtype=torch.float32), (2, 3), (1, 1), 0.0, None),
]
"""Of each result, and of each input after the run: elements, shape, strides,
how far rounding may move it, and which elements count (None: all)."""


def test_c1dedd58f062():
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
