import ast
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import AffineLayout, LinearLayout
from compiler.codegen.gluon.conversion import tile_function
from compiler.codegen.gluon.emission import load_module
from compiler.codegen.gluon.probe import ROUND_TRIPS, place_probe, round_trips
from compiler.codegen.gluon.tensor_conversion import row_major
from compiler.convert import plan, plans
from compiler.convert.hardware import hardware_of
from verify.strategies import ConversionCase, conversions

SRC = LinearLayout.from_bases(
    {"register": [[1, 0], [0, 1]], "lane": [[0, 2], [0, 4], [2, 0], [4, 0], [8, 0]]},
    ["dim0", "dim1"],
)
DST = LinearLayout.from_bases(
    {"register": [[0, 2], [0, 1]], "lane": [[1, 0], [0, 4], [2, 0], [4, 0], [8, 0]]},
    ["dim0", "dim1"],
)


@pytest.mark.parametrize("form", ["hardware", "tensor"])
def test_probes_are_python(form: str) -> None:
    flipped = AffineLayout(DST, {"dim1": 5})
    text = plan(SRC, flipped, 16).emit(form).probe
    ast.parse(text)
    assert "def probe(source, target):" in text
    assert "index ^ 5" in text or "* 0 + 5" in text


def test_places_are_stored_one_by_one() -> None:
    found = plan(SRC, AffineLayout(DST, {"dim1": 5}), 16)
    text = place_probe(found.emit("hardware").function, found.src, found.dst)
    ast.parse(text)
    assert "gl.store(target + place, x)" in text


def test_copies_that_are_spoilt() -> None:
    emission = plan(SRC, DST, 32).emit("hardware")
    arguments = emission.function, emission.src, emission.dst
    text = place_probe(*arguments, silent=64)
    ast.parse(text)
    assert "x = gl.where(place & 64 == 0, x, ~x)" in text
    assert "~x" not in place_probe(*arguments)


@pytest.mark.parametrize("form", ["hardware", "tensor", "memory"])
def test_round_trips(form: str) -> None:
    there, back = plan(SRC, DST, 16), plan(DST, SRC, 16)
    first, second = there.emit(form, name="there"), back.emit(form, name="back")
    text = round_trips(first, second, there.src, there.dst, opaque_bits=16)
    ast.parse(text)
    assert text.count("mov.b32 $0, $1;") == 2 * ROUND_TRIPS
    assert ("there_memory" in text) == (form == "memory")
    native = round_trips(None, None, there.src, there.dst)
    ast.parse(native)
    assert native.count("gl.convert_layout") == 2 * ROUND_TRIPS


def test_round_trips_with_memory_in_common() -> None:
    names = {"register": 1, "lane": 5, "warp": 1}
    lanes = [2, 4, 8, 16, 32]
    one = LinearLayout.from_columns(names, {"dim0": 7}, [1, *lanes, 64])
    other = LinearLayout.from_columns(names, {"dim0": 7}, [64, *lanes, 1])
    there, back = plan(one, other, 32), plan(other, one, 32)
    first = there.emit("hardware", name="there", tile="both")
    second = back.emit("hardware", name="back", tile="both")
    tile = tile_function("both", there.shared_bytes, hardware_of(there.src))
    text = round_trips(first, second, there.src, there.dst, tiles=[tile])
    ast.parse(text)
    assert text.count(".shared .align 1024 .b8 both[1024];") == 1
    assert "b8 tile" not in text and "declare_both()" in text


@pytest.mark.gpu
def test_random_conversions_on_a_gpu() -> None:
    """Each place of each thread is what PyTorch's indexing gives."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")

    def indices(layout: AffineLayout) -> Any:
        columns, start = row_major(layout)
        found = torch.full((1,), start, dtype=torch.int64, device="cuda")
        for column in columns:
            found = torch.cat([found, found ^ column])
        return found

    @settings(max_examples=100, deadline=None)
    @given(conversions(), st.integers(0, 9))
    def is_right(case: ConversionCase, number: int) -> None:
        ways = plans(case.src, case.dst, case.element_bits)
        emission = ways[number % len(ways)].emit("hardware")
        kind = getattr(torch, f"int{emission.element_bits}")
        size = 1 << sum(emission.src.linear.out_bits)
        source = torch.randint(-99, 99, (size,), device="cuda").to(kind)
        wanted = source[indices(emission.dst)]
        found = torch.full_like(wanted, -86)
        text = place_probe(emission.function, emission.src, emission.dst)
        warps = 1 << hardware_of(emission.src).warps
        load_module(text).probe[(1,)](source, found, num_warps=warps)
        assert torch.equal(found, wanted)

    is_right()
