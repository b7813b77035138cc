"""tensor_layouts: left_inverse: mismatch value

Documented: for an injective layout, R(L(i)) == i.
Seen: mismatch value: 1, not None
Versions: python 3.11.7, tensor-layouts 0.3.2.
Found by `tilewright hunt --subject tensor_layouts`, seed 0, case 3138.
"""

import tensor_layouts as tl
from tensor_layouts import analysis, layout_utils


def run(a):
    A = tl.Layout(*a)
    R = tl.left_inverse(A)
    return next((i for i in range(tl.size(A)) if R(A(i)) != i), None)


ARGUMENTS = (((2, 2), (2, 3)),)
EXPECTED = None


def test_1a8c3c4e81d4():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
