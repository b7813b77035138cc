"""tensor_layouts: complement: mismatch value

Documented: Layout(L, complement(L)) covers every offset exactly once.
Seen: mismatch value: 3, not None
Versions: python 3.11.7, tensor-layouts 0.3.2.
Found by `tilewright hunt --subject tensor_layouts`, seed 0, case 3136.
"""

import tensor_layouts as tl
from tensor_layouts import analysis, layout_utils


def run(a):
    A = tl.Layout(*a)
    C = tl.Layout(A, tl.complement(A))
    offsets = [C(i) for i in range(tl.size(C))]
    return next((x for x in offsets if offsets.count(x) > 1), None)


ARGUMENTS = (((2, 2), (2, 3)),)
EXPECTED = None


def test_b1bfc4c295b8():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
