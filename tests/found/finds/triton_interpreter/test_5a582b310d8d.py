"""triton_interpreter: fma: mismatch value

Documented: rounded once.
Seen: mismatch value: [1.171875], not [1.1728515625]
Versions: python 3.11.7, triton 3.7.1.
Found by `tilewright hunt --subject triton_interpreter`, seed 1, case 17.
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
    tl.store(Z + tl.arange(0, M), tl.fma(x, y, x))


def tensor(values, dtype):
    return torch.tensor([float(v) if isinstance(v, str) else v for v in values]).to(
        getattr(torch, dtype)
    )


def run(dtype, data):
    x, y = (tensor(values, dtype) for values in data)
    z = torch.zeros(len(x), dtype=x.dtype)
    kernel[(1,)](x, y, z, len(x), len(x))
    return z.double().tolist()


ARGUMENTS = ('float16', ((1.7558076345829807,), (-0.33227023188560434,)))
EXPECTED = [1.1728515625]


def test_5a582b310d8d():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
