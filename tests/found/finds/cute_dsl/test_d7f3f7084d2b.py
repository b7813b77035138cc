"""cute_dsl: composition: mismatch value

Documented: composition(A, B)(i) = A(B(i)).
Seen: mismatch value: [0, 0, 1, 1], not [0, 0, 1, 0]
Versions: python 3.11.7, nvidia-cutlass-dsl 4.8.1.
Found by `tilewright hunt --subject cute_dsl`, seed 1, case 3800.
"""

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
    C = cute.composition(layout(a), layout(b))
    return table(C)


ARGUMENTS = (((4, (2, 2)), (0, (1, 0))), (4, 3))
EXPECTED = [0, 0, 1, 0]


def test_d7f3f7084d2b():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
