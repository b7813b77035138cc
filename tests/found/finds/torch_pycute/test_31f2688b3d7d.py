"""torch_pycute: left_inverse: mismatch value

Documented: R(A(i)) == i for an injective layout.
Seen: mismatch value: 1, not None
Versions: python 3.11.7, torch 2.13.0+cpu.
Found by `tilewright hunt --subject torch_pycute`, seed 0, case 1002.
"""

from torch.distributed._pycute import Layout, coalesce, complement, composition, cosize, filter, left_inverse, logical_divide, logical_product, make_layout, right_inverse, size, tiled_divide, zipped_divide


def run(a):
    A = Layout(*a)
    R = left_inverse(A)
    return next((i for i in range(size(A)) if R(A(i)) != i), None)


ARGUMENTS = (((2, 2), (1, 3)),)
EXPECTED = None


def test_31f2688b3d7d():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
