"""tensor_layouts: compose: mismatch value

Documented: compose(A, B)(i) = A(B(i)).
Seen: mismatch value: [0, 0, 0, 0], not [0, 0, 0, 1]
Versions: python 3.11.7, tensor-layouts 0.3.2.
Found by `tilewright hunt --subject tensor_layouts`, seed 1, case 1044.
"""

import tensor_layouts as tl
from tensor_layouts import analysis, layout_utils


def run(a, b):
    C = tl.compose(tl.Layout(*a), tl.Layout(*b))
    return [C(i) for i in range(tl.size(C))]


ARGUMENTS = (((5, 2), (0, 1)), ((2, 2), (1, 4)))
EXPECTED = [0, 0, 0, 1]


def test_b640b86cd3cd():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
