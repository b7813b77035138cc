import random
from collections.abc import Callable

import pytest
import torch

from algebra import AffineLayout, LinearLayout
from compiler.assign.laws import (
    Need,
    backward,
    bits_of,
    compact,
    forward,
    from_columns,
    layout_of,
    need,
    renaming,
    sources,
    with_columns,
)
from compiler.ir.tile import Step, TileGraph, TileMap, TileUpcast, results_of

Draw = Callable[[tuple[int, ...], random.Random], LinearLayout]
KINDS = [
    *("transpose", "reshape", "expand_dims", "broadcast"),
    *("join", "split", "upcast", "map"),
]


def packed(shape: tuple[int, ...]) -> torch.Tensor:
    """The packed number of each element of a tile."""
    size = sum(bits_of(shape))
    return (
        torch.arange(1 << size)
        .reshape(shape[::-1])
        .permute(*reversed(range(len(shape))))
    )


@pytest.mark.parametrize("kind", KINDS)
def test_need_is_what_the_evaluator_reads(
    kind: str, each_step: dict[str, Step]
) -> None:
    step = each_step[kind]
    if isinstance(step, TileUpcast | TileMap):
        return  # they compute; their index maps are in the next test
    from compiler.ir import evaluate_tile

    operand = step.operands[0]
    ids = packed(operand.shape)
    values = {tile: ids for tile in step.operands}
    graph = TileGraph("one", {}, ())
    evaluate_tile._operator(graph, step, {}, {}, values)  # type: ignore[arg-type]
    for which, result in enumerate(results_of(step)):
        wanted = need(step, which)
        for element, place in zip(
            packed(result.shape).reshape(-1), values[result].reshape(-1), strict=True
        ):
            image = wanted.offset
            for bit, column in enumerate(wanted.columns):
                image ^= column if int(element) >> bit & 1 else 0
            assert image == int(place)


def test_need_of_an_upcast_halves_its_axis(each_step: dict[str, Step]) -> None:
    # 16 x 16 of 16 x 8 bytes: bit 4 of the element is the nibble
    assert need(each_step["upcast"]).columns == (1, 2, 4, 8, 0, 16, 32, 64)


@pytest.mark.parametrize("kind", KINDS)
def test_any_layout_is_accepted_both_ways(
    kind: str, each_step: dict[str, Step], draw_layout: Draw
) -> None:
    step, rng = each_step[kind], random.Random(1)
    results = results_of(step)
    for _ in range(20):
        made = draw_layout(results[0].shape, rng)
        for which in range(len(results)):
            assert sources(step, backward(step, made), made, which) is not None
        read, made = forward(step, draw_layout(step.operands[0].shape, rng))
        assert made.is_surjective
        for which in range(len(results)):
            assert sources(step, read, made, which) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_sources_read_the_element_that_is_needed(
    kind: str, each_step: dict[str, Step], draw_layout: Draw
) -> None:
    step, rng = each_step[kind], random.Random(2)
    made = draw_layout(results_of(step)[0].shape, rng)
    read = backward(step, made)
    found = sources(step, read, made)
    assert found is not None
    wanted = need(step).after(made, step.operands[0].shape)
    for register in range(1 << made.in_bits[0]):
        at = found({"register": register})["register"]
        for lane in (0, 1, 9, 31):
            here = {"register": at, "lane": lane, "warp": 1, "block": 0}
            there = {"register": register, "lane": lane, "warp": 1, "block": 0}
            assert read(here) == wanted(there)


def test_a_wrong_rule_is_refused(each_step: dict[str, Step]) -> None:
    """The layout of a transpose's result for its operand: elements are elsewhere."""
    step = each_step["transpose"]
    made = layout_of((4, 16, 8), [1, 2, 4, 8], [16, 32, 64, 128, 256], [])
    assert sources(step, made, made) is None


def test_renaming_finds_registers_of_the_own_thread_only() -> None:
    held = layout_of([8], [1], [2, 4], [])
    assert renaming(held, AffineLayout(layout_of([8], [1, 0], [2, 4], []))) is not None
    assert renaming(held, AffineLayout(layout_of([8], [2], [1, 4], []))) is None
    flipped = AffineLayout(held, {"dim0": 1})
    found = renaming(held, flipped)
    assert found is not None and found.packed_offset == 1


def test_compact_drops_copies() -> None:
    assert compact(layout_of([4], [0, 1, 1], [2], [])).in_bits[0] == 1


def test_columns_are_packed_with_dim0_lowest() -> None:
    like = layout_of([2, 2], [2], [1], [])
    assert like.bases["register"] == ((0, 1),)
    assert with_columns(like, [4], [2, 1]).bases["lane"] == ((1,),)
    assert from_columns({"lane": 1}, [2], [1]).out_dims == {"dim0": 2}


def test_need_after_a_layout_has_its_offset() -> None:
    layout = layout_of([2], [1], [], [])
    assert Need((1,), 2).after(layout, [2, 2]).offset == {"dim0": 0, "dim1": 1}
