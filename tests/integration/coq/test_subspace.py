"""Both sides of each theorem of ``subspace.v``, on random instances."""

from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import gauss
from algebra.bank_map import BankMap, find_bank_map

LAW = settings(max_examples=30)


@st.composite
def spaces(draw: st.DrawFn, n: int) -> list[int]:
    return draw(st.lists(st.integers(0, (1 << n) - 1), max_size=n))


def members(space: list[int]) -> set[int]:
    return {gauss.apply(space, tag) for tag in range(1 << len(space))}


@LAW
@given(st.integers(1, 5), st.data())
def test_two_proper_subspaces_never_cover_a_space(n: int, data: st.DataObject) -> None:
    whole = members(data.draw(spaces(n)))
    a, b = members(data.draw(spaces(n))), members(data.draw(spaces(n)))
    if not whole <= a and not whole <= b:
        assert whole - a - b


@LAW
@given(st.integers(1, 5), st.data())
def test_some_subspace_is_in_general_position_to_two(
    n: int, data: st.DataObject
) -> None:
    """The kernel of a bank map is such a subspace, for T = everything."""
    u, v = data.draw(spaces(n)), data.draw(spaces(n))
    banks = max(gauss.rank(u), gauss.rank(v))
    found = find_bank_map([u, v], n, banks)
    assert isinstance(found, BankMap)
    kernel = gauss.kernel(found.columns)
    for space in (u, v):
        together = gauss.rank([*space, *kernel])
        assert together == gauss.rank(space) + len(kernel) <= n


@LAW
@given(st.integers(1, 5), st.data())
def test_two_subspaces_have_a_common_complement(n: int, data: st.DataObject) -> None:
    u, v = data.draw(spaces(n)), data.draw(spaces(n))
    rank = min(gauss.rank(u), gauss.rank(v))
    u, v = basis(u)[:rank], basis(v)[:rank]
    found = find_bank_map([u, v], n, rank)
    assert isinstance(found, BankMap)
    complement = gauss.kernel(found.columns)
    assert gauss.rank(found.columns) == rank
    for space in (u, v):
        assert gauss.intersection(space, complement) == []
        assert gauss.rank([*space, *complement]) == n


def basis(space: list[int]) -> list[int]:
    return [space[i] for i in gauss.Echelon(space).pivots]
