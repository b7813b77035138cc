"""torch_pycute: logical_product: error ZeroDivisionError

Documented: A reproduced over B: A first, copies that hit no offset twice.
Seen: error ZeroDivisionError: integer division or modulo by zero
Versions: python 3.11.7, torch 2.13.0+cpu.
Found by `tilewright hunt --subject torch_pycute`, seed 0, case 11156.
"""

from torch.distributed._pycute import Layout, coalesce, complement, composition, cosize, filter, left_inverse, logical_divide, logical_product, make_layout, right_inverse, size, tiled_divide, zipped_divide


def run(a, b):
    A, B = Layout(*a), Layout(*b)
    P = logical_product(A, B)
    offsets = [P(i) for i in range(size(P))]
    twice = next((x for x in offsets if offsets.count(x) > 1), None)
    return [[P[0](i) for i in range(size(A))], twice]


ARGUMENTS = (((2, 2), (2, 3)), (2, 1))
EXPECTED = [[0, 3, 2, 5], None]


def test_8d409be506e8():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
