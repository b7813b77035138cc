"""Linear maps to banks that are injective on several subspaces at once.

Each access pattern of a shared-memory tile spans a subspace of element indices. A bank
map without conflicts is a linear map to ``bank_bits`` bits whose restriction to every
one of these subspaces is injective; its kernel is then a common complement. Two
subspaces always have one (over any field); three or more need not over F2, which has
too few elements. So this is a search, but a small one.

Basis vectors get their banks one after another: first those of the first subspace,
whose images may be taken as the unit vectors (a change of basis of the banks), then
those that the second adds, and so on. With a vector p, subspace i forbids at most one
coset: if J_i has an element p + rest, with rest among the earlier vectors, then p must
avoid image(rest) + image(J_i so far). For two subspaces one coset at most is forbidden
at a time, so the search never turns back.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .gauss import Echelon, apply, rank, solve
from .verdict import Unknown

NODE_LIMIT = 100_000


@dataclass(frozen=True, slots=True)
class BankMap:
    """A map that is injective on every subspace.

    Attributes:
        columns: Bank of each unit vector of the element space.
    """

    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NoBankMap:
    """Proof by exhaustion that there is no such map.

    Attributes:
        nodes: Partial maps that the search visited.
    """

    nodes: int


def find_bank_map(
    subspaces: Sequence[Sequence[int]],
    size_bits: int,
    bank_bits: int,
    *,
    node_limit: int = NODE_LIMIT,
) -> BankMap | NoBankMap | Unknown:
    """Return a linear map to banks that is injective on each subspace, or why not.

    Law: for a ``BankMap``, the images of a basis of each subspace are independent.

    Args:
        subspaces: A spanning list of vectors each.
        size_bits: Number of bits of a vector.
        bank_bits: Number of bits of a bank.
        node_limit: Partial maps to visit before giving up.

    Returns:
        A map (vectors outside of all subspaces get bank 0), a proof that none exists,
        or ``Unknown`` at ``node_limit``.

    Example:
        >>> find_bank_map([[1], [2]], 2, 1)
        BankMap(columns=(1, 1))
        >>> find_bank_map([[1], [2], [3]], 2, 1)
        NoBankMap(nodes=2)

    Source: theorem ``two_subspaces_have_a_common_complement``.
    """
    if any(rank(space) > bank_bits for space in subspaces):
        return NoBankMap(0)
    basis = Echelon([], size_bits)
    chosen: list[int] = []
    for vector in [v for space in subspaces for v in space] + [
        1 << i for i in range(size_bits)
    ]:
        if basis.add(vector, len(chosen)):
            chosen.append(vector)
    search = _Search(
        [_rows_by_top(chosen, space) for space in subspaces],
        fixed=rank(subspaces[0]) if subspaces else 0,
        used=rank(v for space in subspaces for v in space),
        bank_bits=bank_bits,
        node_limit=node_limit,
    )
    try:
        images = search.extend([], [[0] for _ in subspaces])
    except _NodeLimitError:
        return Unknown(f"no bank map among the first {node_limit} partial ones")
    if images is None:
        return NoBankMap(search.nodes)
    images += [0] * (size_bits - len(images))
    units = solve(chosen, [1 << i for i in range(size_bits)])
    assert units is not None, "chosen is a basis"
    return BankMap(tuple(apply(images, unit) for unit in units))


class _NodeLimitError(Exception):
    """The search has visited as many nodes as it may."""


class _Search:
    """Depth-first search over the images of the basis vectors."""

    def __init__(
        self,
        rows: Sequence[dict[int, int]],
        *,
        fixed: int,
        used: int,
        bank_bits: int,
        node_limit: int,
    ) -> None:
        """Prepare a search.

        Args:
            rows: For each subspace, top coordinate -> the other coordinates of the
                one reduced element that has it.
            fixed: Coordinates of the first subspace, mapped to unit vectors.
            used: Coordinates that any subspace uses.
            bank_bits: Number of bits of a bank.
            node_limit: Nodes to visit at most.
        """
        self.rows = rows
        self.fixed = fixed
        self.used = used
        self.node_limit = node_limit
        self.nodes = 0
        units = [1 << i for i in range(bank_bits)]
        self.values = units + [v for v in range(1 << bank_bits) if v not in units]

    def extend(self, images: list[int], spans: Sequence[list[int]]) -> list[int] | None:
        """Return the images of all used coordinates, or None if there are none.

        Args:
            images: Banks of the coordinates so far.
            spans: For each subspace, the banks of its elements so far.
        """
        position = len(images)
        if position == self.used:
            return images
        self.nodes += 1
        if self.nodes > self.node_limit:
            raise _NodeLimitError
        shifts = [
            apply(images, rows[position]) if position in rows else None
            for rows in self.rows
        ]
        forbidden = {
            shift ^ bank
            for shift, span in zip(shifts, spans, strict=True)
            if shift is not None
            for bank in span
        }
        for value in self.values:
            if value in forbidden:
                continue
            wider = [
                span
                if shift is None
                else span + [bank ^ shift ^ value for bank in span]
                for shift, span in zip(shifts, spans, strict=True)
            ]
            found = self.extend([*images, value], wider)
            if found is not None or position < self.fixed:
                return found
        return None


def _rows_by_top(basis: Sequence[int], space: Sequence[int]) -> dict[int, int]:
    """Reduce a subspace, in coordinates of ``basis``, to one element a top coordinate.

    Returns:
        Top coordinate -> the element without its top coordinate.
    """
    coordinates = solve(basis, space)
    assert coordinates is not None, "basis spans everything"
    rows: dict[int, int] = {}
    for vector in coordinates:
        while vector and vector.bit_length() - 1 in rows:
            top = vector.bit_length() - 1
            vector ^= rows[top] | 1 << top
        if vector:
            top = vector.bit_length() - 1
            rows[top] = vector ^ 1 << top
    return rows
