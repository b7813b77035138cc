"""The element width that a permutation is best carried out in.

Neighbours that move together are moved as one; copies of a map, one after another,
are one larger map.
"""

from functools import lru_cache

from .index_map import IndexMap


@lru_cache(maxsize=1024)
def absorb_batch(map: IndexMap, batch: int) -> tuple[IndexMap, int]:
    """Return the map with the power of two in ``batch`` as further fixed index bits.

    Law: both describe the same permutation of ``batch * 2**map.bits`` elements.

    Example:
        >>> absorb_batch(IndexMap((2, 1)), 12)
        (IndexMap(columns=(2, 1, 4, 8), offset=0), 3)
    """
    fixed = (batch & -batch).bit_length() - 1
    if fixed <= 0:
        return map, batch
    added = tuple(1 << (map.bits + i) for i in range(fixed))
    return IndexMap((*map.columns, *added), map.offset), batch >> fixed


@lru_cache(maxsize=1024)
def coarsen_to(
    map: IndexMap, element_bytes: int, largest_bytes: int
) -> tuple[IndexMap, int]:
    """Return the map of the largest groups of neighbours that move together.

    Args:
        map: The permutation of elements.
        element_bytes: Their width [bytes].
        largest_bytes: Groups grow no further [bytes].

    Returns:
        The map of the groups, and their width [bytes].

    Example:
        >>> coarsen_to(IndexMap((1, 2, 8, 4)), 1, 16)
        (IndexMap(columns=(2, 1), offset=0), 4)
    """
    while 2 * element_bytes <= largest_bytes:
        pairs = map.coarsen()
        if pairs is None:
            break
        map, element_bytes = pairs, 2 * element_bytes
    return map, element_bytes
