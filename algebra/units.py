"""Powers of two, precomputed: most layouts are permutations of index bits.

For a column that is a unit vector, a product or a solution is one dictionary look-up.
"""

from collections.abc import Sequence

UNITS: tuple[int, ...] = tuple(1 << i for i in range(96))
UNIT_SETS: tuple[frozenset[int], ...] = tuple(
    frozenset(UNITS[:count]) for count in range(len(UNITS))
)
LOG2: dict[int, int] = {1 << i: i for i in range(96)}
SMALL: tuple[frozenset[int], ...] = tuple(
    frozenset((0, *UNITS[:count])) for count in range(len(UNITS))
) + (frozenset((0, *UNITS)),) * (4096 - len(UNITS))
UNITS_AND_ZERO: frozenset[int] = frozenset((0, *UNITS))


def images_of_units(columns: Sequence[int]) -> dict[int, int]:
    """Return {0: 0, 1: columns[0], 2: columns[1], 4: ...} as far as UNITS goes."""
    images = dict(zip(UNITS, columns, strict=False))
    images[0] = 0
    return images
