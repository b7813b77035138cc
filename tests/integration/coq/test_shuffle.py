"""Both sides of each theorem of ``shuffle.v``, on random instances."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import LinearLayout, gauss
from compiler.convert.classify import Movement, classify
from compiler.convert.explain import cycles

LAW = settings(max_examples=40)
NAMES = st.permutations(range(9))
Permutation = dict[int, int]


def cycle_of(bits: Sequence[int]) -> Permutation:
    """The map that sends each bit to the next one and the last to the first."""
    following = [*bits[1:], *bits[:1]]
    return dict(zip(bits, following, strict=True))


def run(*permutations: Permutation) -> list[int]:
    """Images of 0 .. 8; the first permutation acts first."""
    images = list(range(9))
    for permutation in permutations:
        images = [permutation.get(image, image) for image in images]
    return images


@LAW
@given(NAMES, st.integers(0, 4), st.integers(0, 2))
def test_run_of_lane_bits_leaves_its_cycle_at_the_price_of_one_swap(
    names: list[int], more_lanes: int, more: int
) -> None:
    r_m, l_j, r_i, *others = names
    lanes = [l_j, *others[:more_lanes]]
    rest = others[more_lanes : more_lanes + more]
    whole = cycle_of([r_m, *lanes, r_i, *rest])
    parts = cycle_of(lanes), cycle_of([r_m, r_i, *rest]), cycle_of([r_i, l_j])
    assert run(whole) == run(*parts)


@LAW
@given(NAMES, st.integers(1, 7))
def test_cycle_with_one_register_bit_is_its_lane_cycle_and_one_swap(
    names: list[int], count: int
) -> None:
    register, *lanes = names[: count + 1]
    whole = cycle_of([register, *lanes])
    assert run(whole) == run(cycle_of(lanes), cycle_of([register, lanes[0]]))


@st.composite
def bit_permutations(draw: st.DrawFn) -> tuple[int, list[int]]:
    """A number of register bits, and where each register and lane bit goes."""
    registers, lanes = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    return registers, draw(st.permutations(range(registers + lanes)))


@LAW
@given(bit_permutations())
def test_every_bit_permutation_is_registers_then_lanes_then_swaps(
    case: tuple[int, list[int]],
) -> None:
    registers, images = case
    bits = len(images)
    to_lanes = [images[i] for i in range(registers) if images[i] >= registers]
    to_registers = [images[i] for i in range(registers, bits) if images[i] < registers]
    pairs = list(zip(to_registers, to_lanes, strict=True))
    swaps = dict(pairs) | {lane: register for register, lane in pairs}
    inner = [swaps.get(image, image) for image in images]
    assert all(inner[i] < registers for i in range(registers))
    assert all(inner[i] >= registers for i in range(registers, bits))
    assert [swaps.get(image, image) for image in inner] == images

    layout = hardware(registers, bits, range(bits))
    conversion = classify(layout, hardware(registers, bits, images))
    if pairs:
        assert conversion.movement is Movement.WITHIN_WARP
    if conversion.movement is Movement.WITHIN_WARP:
        assert conversion.exchanges == len(pairs)
    moved = sum(len(way) - 1 for way in cycles(conversion))
    assert moved == sum(image != i for i, image in enumerate(images))


@LAW
@given(st.integers(0, 4), st.integers(0, 255))
def test_swap_of_register_and_lane_bits_is_three_xor_stages(m: int, v: int) -> None:
    low = [1 << i for i in range(m)]
    high = [1 << i + m for i in range(m)]
    both = [a | b for a, b in zip(low, high, strict=True)]
    select, shuffle = both + high, low + both
    stages = gauss.matmul(gauss.matmul(select, shuffle), select)
    assert stages == high + low
    v %= 1 << 2 * m
    assert gauss.apply(stages, v) == v >> m | v % (1 << m) << m


def hardware(registers: int, bits: int, images: Sequence[int]) -> LinearLayout:
    """The layout whose register and lane bits select these bits of a tensor."""
    return LinearLayout.from_columns(
        {"register": registers, "lane": bits - registers},
        {"dim0": bits},
        [1 << image for image in images],
    )
