"""Both sides of each theorem of ``permutation.v``, on random instances."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import AffineLayout, LinearLayout, gauss
from algebra.bank_map import BankMap, find_bank_map
from compiler import permute
from compiler.permuting.index_map import IndexMap
from compiler.permuting.tile_plan import plan_tile
from verify.strategies import matrices

LAW = settings(max_examples=25)
BITS = 6


@st.composite
def maps(draw: st.DrawFn) -> IndexMap:
    offset = draw(st.integers(0, (1 << BITS) - 1))
    return IndexMap(tuple(draw(matrices(BITS))), offset)


def line(p: int) -> list[int]:
    return [1 << i for i in range(p)]


def tile(f: IndexMap, p: int) -> list[int]:
    """T = L + A^-1 L, as the theorems define it."""
    back = gauss.inverse(f.columns)
    assert back is not None
    return [*line(p), *back[:p]]


def span(space: list[int]) -> set[int]:
    return {gauss.apply(space, tag) for tag in range(1 << len(space))}


@LAW
@given(maps(), st.integers(0, 3))
def test_tile_has_at_most_twice_the_bits_of_a_line(f: IndexMap, p: int) -> None:
    assert p <= gauss.rank(tile(f, p)) <= 2 * p
    plan = plan_tile(f, line_bits=p, vector_bits=0, tile_bits=0)
    assert span(list(plan.source)) == span(tile(f, p))


@LAW
@given(maps(), st.integers(0, 3), st.integers(0, (1 << BITS) - 1))
def test_permute_moves_whole_lines(f: IndexMap, p: int, x: int) -> None:
    coset = {x ^ d for d in span(tile(f, p))}
    moved = {f(y) for y in coset}
    for step in span(line(p)):
        assert {y ^ step for y in coset} == coset
        assert {z ^ step for z in moved} == moved


@LAW
@given(maps())
def test_permute_is_that_map(f: IndexMap) -> None:
    linear = LinearLayout.from_columns({"index": BITS}, {"index": BITS}, f.columns)
    source = torch.arange(1 << BITS)
    target = permute(source, AffineLayout(linear, {"index": f.offset}), backend="torch")
    assert [int(target[f(i)]) for i in range(1 << BITS)] == source.tolist()


@LAW
@given(maps(), st.integers(0, 3), st.data())
def test_tile_is_the_smallest_that_moves_whole_lines(
    f: IndexMap, p: int, data: st.DataObject
) -> None:
    extra = data.draw(st.lists(st.integers(0, (1 << BITS) - 1), max_size=4))
    other = [*line(p), *extra]
    moved = gauss.Echelon([f.apply_linear(v) for v in other])
    whole = all(1 << i in moved for i in range(p))
    holds_tile = span(tile(f, p)) <= span(other)
    assert whole == holds_tile


@LAW
@given(maps(), st.integers(0, 3))
def test_read_and_written_lines_have_a_common_complement_in_the_tile(
    f: IndexMap, p: int
) -> None:
    basis = tile(f, p)
    basis = [basis[i] for i in gauss.Echelon(basis).pivots]
    read, written = (
        gauss.solve(basis, part) for part in (tile(f, p)[:p], tile(f, p)[p:])
    )
    assert read is not None and written is not None
    found = find_bank_map([read, written], len(basis), p)
    assert isinstance(found, BankMap)
    complement = gauss.kernel(found.columns)
    for part in (read, written):
        assert gauss.intersection(part, complement) == []
        assert gauss.rank([*part, *complement]) == len(basis)


@LAW
@given(maps(), st.integers(0, 3))
def test_one_bank_map_serves_the_write_and_the_read(f: IndexMap, p: int) -> None:
    read, written = tile(f, p)[:p], tile(f, p)[p:]
    found = find_bank_map([read, written], BITS, p)
    assert isinstance(found, BankMap)
    for part in (read, written):
        banks = {gauss.apply(found.columns, element) for element in span(part)}
        assert len(banks) == 1 << p


@LAW
@given(matrices(BITS), st.integers(0, 2), st.integers(0, 2), st.data())
def test_one_bank_map_of_words_serves_the_write_and_the_read(
    basis: list[int], word: int, extra: int, data: st.DataObject
) -> None:
    """Two accesses that share a word: the kernel is the word and a complement."""
    both = st.permutations(basis[word:])
    words = basis[:word]
    write, read = ([*words, *data.draw(both)[:extra]] for _ in range(2))
    found = find_bank_map([write, read], BITS, word + extra)
    assert isinstance(found, BankMap)
    segment = gauss.kernel(found.columns)
    kernel = [*words, *segment]
    assert BITS - gauss.rank(kernel) == extra
    for access in (write, read):
        assert gauss.rank(gauss.intersection(kernel, access)) == word
        assert all(w in gauss.Echelon(kernel) for w in words)
        assert gauss.rank([*kernel, *access]) == BITS
