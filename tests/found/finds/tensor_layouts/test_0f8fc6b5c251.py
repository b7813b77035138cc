"""tensor_layouts: coalesce_profile: error TypeError

Documented: coalescing happens within each mode, always preserves semantics.
Seen: error TypeError: 'int' object is not iterable
Versions: python 3.11.7, tensor-layouts 0.3.2.
Found by `tilewright hunt --subject tensor_layouts`, seed 1, case 2.
"""

import tensor_layouts as tl
from tensor_layouts import analysis, layout_utils


def run(a, profile):
    C = tl.coalesce(tl.Layout(*a), profile)
    return [C(i) for i in range(tl.size(C))]


ARGUMENTS = ((5, 0), (5,))
EXPECTED = [0, 0, 0, 0, 0]


def test_0f8fc6b5c251():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
