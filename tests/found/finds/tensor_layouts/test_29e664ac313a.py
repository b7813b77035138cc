"""tensor_layouts: coalesce_profile: mismatch value

Documented: coalescing happens within each mode, always preserves semantics.
Seen: mismatch value: [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], not [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]
Versions: python 3.11.7, tensor-layouts 0.3.2.
Found by `tilewright hunt --subject tensor_layouts`, seed 0, case 506.
"""

import tensor_layouts as tl
from tensor_layouts import analysis, layout_utils


def run(a, profile):
    C = tl.coalesce(tl.Layout(*a), profile)
    return [C(i) for i in range(tl.size(C))]


ARGUMENTS = (((3, 4), (1, 0)), (12,))
EXPECTED = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]


def test_29e664ac313a():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
