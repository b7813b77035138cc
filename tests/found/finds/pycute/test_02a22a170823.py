"""pycute: left_inverse: mismatch value

Documented: R(A(i)) == i for an injective layout.
Seen: mismatch value: 2, not None
Versions: python 3.11.7, nvidia-cutlass 4.2.0.0.
Found by `tilewright hunt --subject pycute`, seed 0, case 1251.
"""

from pycute import Layout, coalesce, complement, composition, cosize, filter, left_inverse, logical_divide, logical_product, make_layout, right_inverse, size, tiled_divide, zipped_divide


def run(a):
    A = Layout(*a)
    R = left_inverse(A)
    return next((i for i in range(size(A)) if R(A(i)) != i), None)


ARGUMENTS = (((2, 2), (1, 3)),)
EXPECTED = None


def test_02a22a170823():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
