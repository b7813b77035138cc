import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import (
    AffineLayout,
    DimMismatchError,
    LinearLayout,
    Proved,
    UnsupportedLayoutError,
)
from algebra.encodings import Blocked, NvidiaMma
from compiler.convert.reduction import Exchange, Fold, Pass, plan_reduction
from verify.strategies import surjections

ROWS = ["dim0", "dim1"]
ACCUMULATOR = NvidiaMma(
    version=(3, 0), warps_per_cta=(4, 1), instr_shape=(16, 64, 16)
).to_linear_layout([64, 64])


def holds(src: LinearLayout | AffineLayout, dims: list[str]) -> None:
    found = plan_reduction(src, dims)
    assert isinstance(found.prove(), Proved), (found.prove(), found)
    assert found.simulate()


def test_row_maximum_of_an_accumulator() -> None:
    """32 values a thread in two rows: 30 in registers, then 2 lane bits."""
    found = plan_reduction(ACCUMULATOR, ["dim1"])
    assert found.counts == {"add": 30 + 4, "shfl": 4}
    assert found.dst.linear.bases["register"] == ((8,),)
    assert found.shared_bytes == 0
    assert "combine with lane xor 1" in found.explain()
    holds(ACCUMULATOR, ["dim1"])


def test_columns_of_an_accumulator_go_through_memory_once() -> None:
    found = plan_reduction(ACCUMULATOR, ["dim0"])
    assert isinstance(found.steps[-1], Pass)
    assert found.shared_bytes == 4 * 64 * 4
    holds(ACCUMULATOR, ["dim0"])


def test_copies_are_neither_added_nor_stored() -> None:
    """A tensor of 16 x 4 in a layout of 64 x 64: nearly all places hold copies."""
    encoding = Blocked(
        size_per_thread=(1, 8),
        threads_per_warp=(8, 4),
        warps_per_cta=(4, 1),
        order=(1, 0),
    )
    layout = encoding.to_linear_layout([16, 4])
    for dims in (["dim0"], ["dim1"], ROWS):
        holds(layout, dims)
    assert plan_reduction(layout, ["dim1"]).counts == {"add": 3}
    found = plan_reduction(layout, ["dim0"])
    (through,) = [step for step in found.steps if isinstance(step, Pass)]
    stored = 1 << len(through.address.linear.columns) - through.silent.bit_count()
    assert stored == 1 << through.address.linear.out_bits[0]


@given(st.data())
def test_any_surjective_layout(data: st.DataObject) -> None:
    dims = {"dim0": data.draw(st.integers(0, 3)), "dim1": data.draw(st.integers(0, 3))}
    src = data.draw(surjections(6, 3, dims, ("register", "lane", "warp")))
    start = {name: data.draw(st.integers(0, (1 << b) - 1)) for name, b in dims.items()}
    for reduced in (["dim0"], ["dim1"], ROWS):
        holds(AffineLayout(src, start), reduced)


def test_rejected() -> None:
    with pytest.raises(DimMismatchError, match="dim7"):
        plan_reduction(ACCUMULATOR, ["dim7"])
    with pytest.raises(DimMismatchError):
        plan_reduction(ACCUMULATOR, [])
    halves = LinearLayout.from_bases({"lane": [[2]]}, {"dim0": 4}, False)
    with pytest.raises(UnsupportedLayoutError, match="every element"):
        plan_reduction(halves, ["dim0"])
    blocks = LinearLayout.from_bases({"lane": [[1]], "block": [[2]]}, ["dim0"])
    with pytest.raises(UnsupportedLayoutError, match="different blocks"):
        plan_reduction(blocks, ["dim0"])


def test_a_fold_keeps_the_other_registers() -> None:
    layout = LinearLayout.from_bases(
        {"register": [[1, 1], [1, 0], [0, 2]], "lane": [[2, 0]]}, ROWS
    )
    found = plan_reduction(layout, ["dim0"])
    assert [type(step) for step in found.steps] == [Fold, Exchange]
    holds(layout, ["dim0"])


def test_emission() -> None:
    text = plan_reduction(ACCUMULATOR, ["dim1"]).emit("max", "float32").text
    assert "def reduce(x):" in text and "max.NaN.f32" in text
