"""pycute: composition: mismatch value

Documented: composition(A, B)(i) = A(B(i)).
Seen: mismatch value: [0, 0], not [0, 0, 1]
Versions: python 3.11.7, nvidia-cutlass 4.2.0.0.
Found by `tilewright hunt --subject pycute`, seed 0, case 12615.
"""

from pycute import Layout, coalesce, complement, composition, cosize, filter, left_inverse, logical_divide, logical_product, make_layout, right_inverse, size, tiled_divide, zipped_divide


def run(a, b):
    C = composition(Layout(*a), Layout(*b))
    return [C(i) for i in range(size(C))]


ARGUMENTS = (((2, 2), (0, 1)), (3, 1))
EXPECTED = [0, 0, 1]


def test_40d9b295388a():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
