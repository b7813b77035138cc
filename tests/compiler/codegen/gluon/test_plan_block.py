import pytest

from algebra import LinearLayout, UnsupportedLayoutError
from compiler.codegen.gluon.plan_block import block, ends, inside, log2_parts
from compiler.convert import Registers, Select, Shuffle, plan
from compiler.convert.plan import Plan


def flat(*dims: list[int]) -> LinearLayout:
    names = ("register", "lane", "warp", "block")
    return LinearLayout.from_columns(
        {name: len(dim) for name, dim in zip(names, dims, strict=False)},
        {"dim0": max(c.bit_length() for dim in dims for c in dim)},
        [c for dim in dims for c in dim],
    )


LANES = [1, 2, 4, 8, 16]


def across(bits: int, repeated: bool = True) -> str:
    found = plan(flat([32], LANES, [64]), flat([64], LANES, [32]), bits)
    return block(
        found.steps, bits, shared_bytes=found.shared_bytes, repeated=repeated
    ).text


def test_blocks_that_run_again_wait_first() -> None:
    assert across(32).count("bar.sync 0;") == 2
    assert across(32, repeated=False).count("bar.sync 0;") == 1
    assert ".b8 tile[1024]" in across(32)  # what is declared is a multiple


def test_wide_elements_are_two_words() -> None:
    found = plan(flat([32, 64], LANES), flat([1, 64], [32, *LANES[1:]]), 64)
    assert any(isinstance(step, Shuffle) for step in found.steps)
    text = block(found.steps, 64).text
    assert text.count("mov.b64 {") == 4 and text.count("mov.b64 $") == 4


def test_wide_elements_that_only_go_through_memory_stay_whole() -> None:
    text = across(64)
    assert "mov.b64 {" not in text and "st.shared.b64" in text
    assert ".reg .b64 d<2>;" in text


def test_small_files_are_made_words_before() -> None:
    found = plan(flat([32], LANES), flat([1], [32, *LANES[1:]]), 8)
    made = block(found.steps, 8)
    assert (made.operand_bits, made.joined, made.parted) == (32, 1, 1)
    assert (made.inputs, made.outputs) == (0, 0)
    assert made.constraints.startswith("=r,r,r")
    assert made.constraints.count("=") == 1 and "prmt" in made.text
    assert len(made.given) == made.constraints.count("r") - 2


def test_what_depends_on_the_thread_is_computed_before() -> None:
    found = plan(flat([32], LANES, [64]), flat([64], LANES, [32]), 32)
    made = block(found.steps, 32, shared_bytes=found.shared_bytes)
    assert made.given and "%tid" not in made.text
    assert any("thread" in line for line in made.computed)
    for position, name in enumerate(made.given):
        assert f"mov.b32 {name}, ${4 + position};" in made.text


def test_many_addresses_are_flipped_inside() -> None:
    rows = [1 << bit for bit in range(5)]
    src = flat(rows, [32, 64, 128, 256, 512], [1024])
    dst = flat([1024, *rows[1:]], [32, 64, 128, 256, 512], [1])
    found = plan(src, dst, 32)
    made = block(found.steps, 32, shared_bytes=found.shared_bytes)
    assert len(made.given) <= 24


def test_numbers_of_registers_may_differ() -> None:
    found = plan(flat([32, 0], LANES), flat([1], [32, *LANES[1:]]), 32)
    made = block(found.steps, 32)
    assert (made.inputs, made.outputs) == (2, 1)
    assert made.constraints.startswith("=r,=r,r,r,r,r,r")
    assert log2_parts(2, 1) == (1, 0) and log2_parts(0, 2) == (0, 2)


def test_renaming_becomes_selection_and_joins_its_neighbours() -> None:
    found = plan(flat([32, 0], LANES), flat([1], [32, *LANES[1:]]), 32)
    assert isinstance(found.steps[0], Registers)
    merged = inside(found.steps)
    assert [type(step) for step in merged].count(Select) == 2
    first, last = ends(merged)
    assert (first.registers, last.registers) == (2, 1)


def refused(found: Plan, bits: int) -> None:
    with pytest.raises(UnsupportedLayoutError):
        block(found.steps, bits, shared_bytes=found.shared_bytes)


def test_what_triton_cannot_express() -> None:
    src, dst = flat([32], LANES, [64]), flat([64], LANES, [32])
    refused(plan(src, dst, 128), 128)
    clusters = plan(flat([32], LANES, [], [64]), flat([64], LANES, [], [32]), 32)
    refused(clusters, 32)
    rows = [1 << i for i in range(8)]
    big = plan(
        flat(rows, [256, 512, 1024, 2048, 4096], [8192]),
        flat([256, 512, 1024, 2048, 4096, 8192, 1, 2], [4, 8, 16, 32, 64], [128]),
        32,
    )
    assert big.shared_bytes == 32 * 1024 or big.shared_bytes > 48 * 1024
