"""pycute: swizzle: error RecursionError

Documented: 0bYY..ZZ... becomes 0bYY..AA... where AA = ZZ xor YY.
Seen: error RecursionError: maximum recursion depth exceeded
Versions: python 3.11.7, nvidia-cutlass 4.2.0.0.
Found by `tilewright hunt --subject pycute`, seed 0, case 12.
"""

from pycute.swizzle import Swizzle


def run(bits, base, shift, offset):
    return Swizzle(bits, base, shift)(offset)


ARGUMENTS = (0, 0, 0, 0)
EXPECTED = 0


def test_cf62c82d2532():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
