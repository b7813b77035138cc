"""Both sides of each theorem of ``conflicts.v``, on random instances."""

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import LinearLayout, gauss
from algebra.bank_conflicts import extra_wavefronts
from algebra.bank_map import BankMap, find_bank_map
from algebra.swizzle import optimal_swizzle
from algebra.swizzle_certificate import least_total_wavefronts
from verify.strategies import surjections

LAW = settings(max_examples=30)
WORD_BITS = 6


@st.composite
def accesses(draw: st.DrawFn) -> list[int]:
    """Images of the bits of one wavefront, in words of 32 bits."""
    return draw(st.lists(st.integers(0, (1 << WORD_BITS) - 1), max_size=5))


def words_by_bank(words: list[int], bank: list[int]) -> dict[int, set[int]]:
    hit: defaultdict[int, set[int]] = defaultdict(set)
    for v in range(1 << len(words)):
        word = gauss.apply(words, v)
        hit[gauss.apply(bank, word)].add(word)
    return hit


def low_bits(banks: int) -> list[int]:
    """The bank map of the hardware: a word modulo the number of banks."""
    return [1 << i if i < banks else 0 for i in range(WORD_BITS)]


@LAW
@given(accesses(), st.integers(0, 4), st.data())
def test_every_hit_bank_is_asked_for_equally_many_words(
    words: list[int], banks: int, data: st.DataObject
) -> None:
    column = st.integers(0, (1 << banks) - 1)
    bank = data.draw(st.lists(column, min_size=WORD_BITS, max_size=WORD_BITS))
    hit = words_by_bank(words, bank)
    ranks = gauss.rank(words) - gauss.rank(gauss.matmul(bank, words))
    assert {len(asked) for asked in hit.values()} == {1 << ranks}


@LAW
@given(accesses(), st.integers(0, 5))
def test_conflicts_are_a_difference_of_ranks(words: list[int], banks: int) -> None:
    turns = max(map(len, words_by_bank(words, low_bits(banks)).values()))
    assert extra_wavefronts(words, 32, 1 << banks) == turns - 1


@LAW
@given(accesses(), st.integers(0, 5))
def test_conflict_free_iff_words_meet_the_segment_in_zero(
    words: list[int], banks: int
) -> None:
    segment = gauss.kernel(low_bits(banks))
    free = gauss.intersection(words, segment) == []
    assert (extra_wavefronts(words, 32, 1 << banks) == 0) == free


@LAW
@given(accesses())
def test_conflict_free_iff_words_and_segment_are_complementary(
    words: list[int],
) -> None:
    banks = gauss.rank(words)
    segment = gauss.kernel(low_bits(banks))
    meet = gauss.intersection(words, segment)
    complementary = meet == [] and gauss.rank([*words, *segment]) == WORD_BITS
    assert (extra_wavefronts(words, 32, 1 << banks) == 0) == complementary


@LAW
@given(accesses(), st.integers(0, 5))
def test_conflicts_are_at_least_the_excess_over_the_bank_bits(
    words: list[int], banks: int
) -> None:
    least = (1 << max(0, gauss.rank(words) - banks)) - 1
    assert extra_wavefronts(words, 32, 1 << banks) >= least


@LAW
@given(accesses(), accesses(), st.integers(1, 5))
def test_one_bank_map_is_optimal_for_two_accesses(
    write: list[int], read: list[int], banks: int
) -> None:
    parts = [
        [words[i] for i in gauss.Echelon(words).pivots][:banks]
        for words in (write, read)
    ]
    found = find_bank_map(parts, WORD_BITS, banks)
    assert isinstance(found, BankMap)
    for words in (write, read):
        excess = max(0, gauss.rank(words) - banks)
        turns = max(map(len, words_by_bank(words, list(found.columns)).values()))
        assert turns == 1 << excess


@LAW
@given(st.data())
def test_optimal_swizzles_of_two_patterns_have_no_conflicts(
    data: st.DataObject,
) -> None:
    dims = {"dim0": 4, "dim1": 4}
    patterns = [distributed(data, dims) for _ in range(2)]
    assert optimal_swizzle(patterns[0], patterns[1], 32, 8).conflicts == (0, 0)


@LAW
@given(st.data(), st.integers(1, 3))
def test_low_offsets_are_nested(data: st.DataObject, count: int) -> None:
    n = 4
    memory = data.draw(surjections(out_dims={"dim0": n}, max_broadcast=0)).columns
    widths = [data.draw(st.integers(0, n)) for _ in range(count)]
    extra = st.lists(st.integers(0, (1 << n) - 1), max_size=2)
    registers = [[*memory[:width], *data.draw(extra)] for width in widths]
    for k in range(n + 1):
        meet = [1 << i for i in range(n)]
        for space, width in zip(registers, widths, strict=True):
            if k <= width:
                meet = gauss.intersection(meet, space)
        assert k <= gauss.rank(meet)


@LAW
@given(st.data())
def test_least_total_wavefronts_is_a_lower_bound(data: st.DataObject) -> None:
    dims = {"dim0": 3, "dim1": 4}
    patterns = [distributed(data, dims) for _ in range(2)]
    best = optimal_swizzle(patterns[0], patterns[1], 16, 8).certificate.wavefronts
    assert least_total_wavefronts(patterns, 16, 8) <= best


def distributed(data: st.DataObject, dims: dict[str, int]) -> LinearLayout:
    """A bijection of registers and 8 lanes to a tensor."""
    flat = data.draw(surjections(out_dims=dims, max_broadcast=0, in_names=["all"]))
    bits = sum(dims.values())
    return flat.reshape_ins({"register": 1 << bits - 3, "lane": 8})
