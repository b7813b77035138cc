from compiler.codegen.gluon.quantised_layouts import UNIT_WORDS, Cut
from compiler.mixed.formats import FORMATS
from compiler.mixed.tiling import Problem, Tiling


def cut(**tiling: int) -> Cut:
    kind = FORMATS["mxfp4"]
    problem = Problem(format=kind, target="bf16", n=80, k=512, group=32)
    return Cut(problem, Tiling(rows=8, **tiling))  # type: ignore[arg-type]


def test_numbers() -> None:
    found = cut(row_tiles=2, warps_k=2, depth=128, splits=3)
    assert (found.units, found.all_units) == (2, 8)
    assert (found.slab, found.slabs) == (32, 4)
    assert (found.groups, found.vector, found.together, found.vectors) == (4, 4, 4, 1)
    assert (found.chunks, found.steps) == (4, 1)
    assert not found.even
    assert not found.whole


def test_layouts_have_all_lanes() -> None:
    found = cut(row_tiles=1, warps_k=4, depth=64)
    assert found.even and found.whole
    layouts = found.layouts()
    assert set(layouts) == {
        "MMA",
        "A",
        "B",
        "WEIGHTS",
        "WORDS",
        "SCALES",
        "ACTIVATIONS",
        "SUMS",
    }
    assert layouts["WEIGHTS"].endswith(f"{[*found.tile, 1, UNIT_WORDS]})")
