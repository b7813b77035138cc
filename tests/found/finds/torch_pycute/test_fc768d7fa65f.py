"""torch_pycute: composition: mismatch value

Documented: composition(A, B)(i) = A(B(i)).
Seen: mismatch value: [0, 1], not [0, 1, 0]
Versions: python 3.11.7, torch 2.13.0+cpu.
Found by `tilewright hunt --subject torch_pycute`, seed 0, case 10092.
"""

from torch.distributed._pycute import Layout, coalesce, complement, composition, cosize, filter, left_inverse, logical_divide, logical_product, make_layout, right_inverse, size, tiled_divide, zipped_divide


def run(a, b):
    C = composition(Layout(*a), Layout(*b))
    return [C(i) for i in range(size(C))]


ARGUMENTS = (((2, 2), (0, 1)), (3, 1))
EXPECTED = [0, 1, 0]


def test_fc768d7fa65f():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
