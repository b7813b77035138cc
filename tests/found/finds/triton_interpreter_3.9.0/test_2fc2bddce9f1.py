"""triton_interpreter: to_float8e4nv: mismatch value

Documented: rounded to nearest even.
Seen: mismatch value: [0.001953125], not [0.0]
Versions: python 3.11.7, triton 3.9.0.
Found by `tilewright hunt --subject triton_interpreter`, seed 1, case 191.
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
    tl.store(Z + tl.arange(0, M), x.to(tl.float8e4nv))


def tensor(values, dtype):
    return torch.tensor([float(v) if isinstance(v, str) else v for v in values]).to(
        getattr(torch, dtype)
    )


def run(dtype, data):
    x, y = (tensor(values, dtype) for values in data)
    z = torch.zeros(len(x), dtype=torch.float8_e4m3fn)
    kernel[(1,)](x, y, z, len(x), len(x))
    return z.double().tolist()


ARGUMENTS = ('float32', ((1e-40,), (0.0,)))
EXPECTED = [0.0]


def test_2fc2bddce9f1():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
