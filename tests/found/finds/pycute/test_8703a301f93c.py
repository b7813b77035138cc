"""pycute: logical_product_int: mismatch value

Documented: A reproduced n times: size(A) * n elements.
Seen: mismatch value: [2, 0], not [2, None]
Versions: python 3.11.7, nvidia-cutlass 4.2.0.0.
Found by `tilewright hunt --subject pycute`, seed 0, case 24.
"""

from pycute import Layout, coalesce, complement, composition, cosize, filter, left_inverse, logical_divide, logical_product, make_layout, right_inverse, size, tiled_divide, zipped_divide


def run(a, n):
    P = logical_product(Layout(*a), n)
    offsets = [P(i) for i in range(size(P))]
    return [size(P), next((x for x in offsets if offsets.count(x) > 1), None)]


ARGUMENTS = ((1, 0), 2)
EXPECTED = [2, None]


def test_8703a301f93c():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
