"""Tiles of products: where factors are, which programs run together."""

from dataclasses import replace

import pytest

from benchmarks.product_epilogue_cases import Case, program_of
from compiler.codegen.triton.candidates import exchangeable
from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.product_plan import plan_product, without_descriptors
from compiler.codegen.triton.tile import Plan, programs_of
from compiler.errors import BuildError
from compiler.ir.expression import Expression, substitute
from compiler.ir.index import constant_value, digit, index
from compiler.ir.kernel import Kernel
from compiler.ir.node import Tiling
from compiler.options import Options
from compiler.schedule import schedule

CASE = Case("case", (96, 160, 64), "gelu")
TILING = Tiling(16, 32, 32, 4, 2, 0, True)


def kernel_of(case: Case, tiling: Tiling = TILING) -> Kernel:
    steps = schedule(program_of(case), Options(product_epilogues="always")).steps
    (found,) = (s for s in steps if isinstance(s, Kernel) and s.product)
    return replace(found, product=tiling)


def tile_of(chosen: Plan, program: int) -> tuple[int | None, ...]:
    to: dict[Expression, Expression] = {digit("program"): index(program)}
    places = programs_of(chosen).values()
    return tuple(constant_value(substitute(place, to)) for place in places)


@pytest.mark.parametrize("rows", [16, 96, 112, 144, 16 * 13])
def test_each_tile_has_one_program_and_neighbours_share_rows(rows: int) -> None:
    chosen = plan(kernel_of(replace(CASE, shape=(rows + 17, 160, 64))))
    count = constant_value(chosen.grid)
    down = -(-(rows + 17) // 16)
    assert count == down * 5
    tiles = [tile_of(chosen, program) for program in range(count)]
    assert sorted(map(str, tiles)) == sorted(
        str((y, x)) for y in range(down) for x in range(5)
    )
    first = tiles[: chosen.neighbours]
    assert first == [(y, 0) for y in range(len(first))]
    assert down % chosen.neighbours == 0 and chosen.neighbours <= 8


def test_programs_that_share_tiles_are_as_many_as_asked_for_at_most() -> None:
    shared = plan(kernel_of(CASE, replace(TILING, programs=7)))
    assert constant_value(shared.tiles) == 30 and constant_value(shared.grid) == 7
    few = plan(kernel_of(CASE, replace(TILING, programs=132)))
    assert constant_value(few.grid) == 30


@pytest.mark.parametrize(
    ("case", "steps", "rows"),
    [
        (CASE, (1, 1), (64, 64)),
        (replace(CASE, weight_rows=True), (1, 160), (64, 160)),
        # rows of 50 elements are no multiple of 16 bytes
        (replace(CASE, shape=(96, 160, 50)), (1, 1), None),
        # rows of a batch of odd matrices are no multiple of a step
        (replace(CASE, shape=(96, 160, 64), batch=4, turned=True), (1, 1), (64, 64)),
    ],
    ids=["turned", "plain", "odd", "batch"],
)
def test_descriptors_serve_where_rows_are_aligned(
    case: Case, steps: tuple[int, int], rows: tuple[int, int] | None
) -> None:
    chosen = plan(kernel_of(case))
    factors = chosen.factors
    assert factors is not None and factors.steps == steps
    assert factors.tiling.descriptors is (rows is not None)
    if rows is not None:
        assert factors.rows == rows
    plain = without_descriptors(chosen).factors
    assert plain is not None and not plain.tiling.descriptors
    assert chosen.num_warps == TILING.warps and chosen.num_stages == TILING.stages
    # the order of a sum is that of its tiles: none is tuned
    assert not exchangeable(chosen)


def test_what_is_no_product_is_refused() -> None:
    kernel = kernel_of(CASE)
    with pytest.raises(BuildError, match="is no product of two matrices"):
        plan_product(replace(kernel, stages=kernel.stages[1:]))


@pytest.mark.parametrize("batch", [1, 4])
def test_a_result_of_adjacent_rows_is_the_product_of_the_transposes(
    batch: int,
) -> None:
    for turned, arrays in ((False, ("left", "right")), (True, ("right", "left"))):
        case = replace(CASE, batch=batch, turned=turned)
        factors = plan(kernel_of(case)).factors
        assert factors is not None and factors.arrays == arrays
