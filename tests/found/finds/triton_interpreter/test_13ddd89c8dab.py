"""triton_interpreter: minimum: mismatch value

Documented: propagate_nan NONE: of a number and a NaN, the number.
Seen: mismatch value: [nan], not [0.0]
Versions: python 3.11.7, triton 3.7.1.
Found by `tilewright hunt --subject triton_interpreter`, seed 1, case 14.
"""

import os

os.environ["TRITON_INTERPRET"] = "1"
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, Z, N: tl.constexpr, M: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    y = tl.load(Y + i)
    tl.store(Z + tl.arange(0, M), tl.minimum(x, y))


def tensor(values, dtype):
    return torch.tensor([float(v) if isinstance(v, str) else v for v in values]).to(
        getattr(torch, dtype)
    )


def run(dtype, data):
    x, y = (tensor(values, dtype) for values in data)
    z = torch.zeros(len(x), dtype=x.dtype)
    kernel[(1,)](x, y, z, len(x), len(x))
    return z.tolist()


ARGUMENTS = ('float16', ((0.0,), ('nan',)))
EXPECTED = [0.0]


def test_13ddd89c8dab():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
