"""cute_dsl: logical_product: died SIGFPE

Documented: A reproduced over B: A first, copies that hit no offset twice.
Seen: died SIGFPE: 
Versions: python 3.11.7, nvidia-cutlass-dsl 4.8.1.
Found by `tilewright hunt --subject cute_dsl`, seed 1, case 8116.
"""
import subprocess
import sys

import cutlass.cute as cute
from cutlass._mlir import ir


CONTEXT = ir.Context()


def run(a, b):
    with CONTEXT, ir.Location.unknown():
        with ir.InsertionPoint(ir.Module.create().body):
            return body(a, b)


def layout(a):
    return cute.make_layout(a[0], stride=a[1])


def table(L):
    pairs = list(zip(cute.flatten_to_tuple(L.shape), cute.flatten_to_tuple(L.stride)))
    offsets = [0]
    for n, d in pairs:
        offsets = [base + d * k for k in range(n) for base in offsets]
    return offsets


def body(a, b):
    A = layout(a)
    P = cute.logical_product(A, layout(b))
    offsets = table(P)
    twice = next((x for x in offsets if offsets.count(x) > 1), None)
    return [table(P[0]), twice]


ARGUMENTS = (((2, 2), (4, 3)), (3, 1))
EXPECTED = [[0, 4, 3, 7], None]


def test_3e9fcb088887():
    done = subprocess.run([sys.executable, __file__], timeout=120)
    assert done.returncode == 0


if __name__ == "__main__":
    run(*ARGUMENTS)
