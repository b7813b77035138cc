"""Matrix instructions: a simulation of ldmatrix fills exactly the right registers."""

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import LinearLayout, Proved
from algebra.bank_conflicts import LaneTile, bank_conflicts, shared_access
from algebra.errors import (
    DimMismatchError,
    NotPowerOfTwoError,
    UnsupportedLayoutError,
)
from algebra.matrix_instructions import (
    MatrixAccess,
    NoMatrixAccess,
    matrix_access,
    row_access,
)
from algebra.swizzle import swizzle_for


def bits_at(value: int, positions: tuple[int, ...]) -> int:
    """Spread the bits of ``value`` to register bit positions."""
    return sum((value >> i & 1) << position for i, position in enumerate(positions))


def check_by_simulation(
    found: MatrixAccess, access: LinearLayout, element_bits: int
) -> None:
    """Run every instruction as the PTX manual describes it and compare the offsets."""
    per_piece = 32 // element_bits
    warps = access.in_dims.get("warp", 1)
    addressed = found.addresses.in_dims["lane"]
    filled = set()
    for repeat, matrix, lane, element, warp in product(
        range(found.instructions),
        range(found.matrices),
        range(32),
        range(per_piece),
        range(warps),
    ):
        if found.transposed:
            row, column = 2 * (lane % 4) + element, lane // 4
        else:
            row, column = lane // 4, lane % 4 * per_piece + element
        supplier = 8 * matrix + row
        assert supplier < addressed
        at = {"lane": supplier, "register": repeat}
        point = {"lane": lane}
        if "warp" in access.in_dims:
            at["warp"] = point["warp"] = warp
        start = found.addresses.apply(at)["offset"]
        assert start * element_bits % 128 == 0
        register = (
            bits_at(element, found.element_registers)
            | bits_at(matrix, found.matrix_registers)
            | bits_at(repeat, found.repeat_registers)
        )
        expected = access.apply(point | {"register": register})["offset"]
        assert start + column == expected
        filled.add((warp, lane, register))
    assert len(filled) == access.get_total_in_dim_size()


def random_matrix_access(
    seed: int, element_bits: int, transposed: bool
) -> LinearLayout:
    source = random.Random(seed)
    count = {4: 3, 8: 2, 16: 1, 32: 0}[element_bits]
    row_bits = count + 2
    extra = source.randrange(5)
    warps = source.randrange(2)
    high = [1 << row_bits + i for i in range(3 + extra + warps)]
    for _ in range(source.randrange(8)):
        i, j = source.sample(range(len(high)), 2)
        high[i] ^= high[j]
    source.shuffle(high)
    if transposed:
        lanes = [*high[:2], 1, 2, 4]
        registers = high[2 : 3 + extra]
    else:
        lanes = [1 << count, 2 << count, *high[:3]]
        registers = [1 << i for i in range(count)] + high[3 : 3 + extra]
        source.shuffle(registers)
    return LinearLayout.from_columns(
        {"register": len(registers), "lane": 5, "warp": warps},
        {"offset": row_bits + len(high)},
        [*registers, *lanes, *high[3 + extra :]],
    )


@given(st.integers(min_value=0), st.sampled_from([4, 8, 16, 32]))
def test_plain_instructions_fill_the_registers(seed: int, element_bits: int) -> None:
    access = random_matrix_access(seed, element_bits, transposed=False)
    found = matrix_access(access, element_bits)
    assert isinstance(found, MatrixAccess)
    check_by_simulation(found, access, element_bits)


@given(st.integers(min_value=0))
def test_transposed_instructions_fill_the_registers(seed: int) -> None:
    access = random_matrix_access(seed, 16, transposed=True)
    found = matrix_access(access, 16, transposed=True)
    assert isinstance(found, MatrixAccess)
    check_by_simulation(found, access, 16)


def blocked_rows() -> LinearLayout:
    """64 x 64, 8 elements of a row a thread, coalesced."""
    return LinearLayout.from_bases(
        {
            "register": [[0, 1], [0, 2], [0, 4], [32, 0]],
            "lane": [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]],
            "warp": [[4, 0], [8, 0], [16, 0]],
        },
        {"dim0": 64, "dim1": 64},
    )


def accumulator() -> LinearLayout:
    """A 64 x 64 result of matrix cores, 4 x 2 warps of m16n8."""
    return LinearLayout.from_bases(
        {
            "register": [[0, 1], [8, 0], [0, 8], [0, 16]],
            "lane": [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
            "warp": [[16, 0], [32, 0], [0, 32]],
        },
        {"dim0": 64, "dim1": 64},
    )


def swap_dims(layout: LinearLayout) -> LinearLayout:
    return LinearLayout.from_bases(
        {dim: [vector[::-1] for vector in vs] for dim, vs in layout.bases.items()},
        {"dim0": 64, "dim1": 64},
    )


@pytest.mark.parametrize("transposed", [False, True])
def test_a_swizzle_for_rows_serves_the_matrix_instruction(transposed: bool) -> None:
    src = blocked_rows()
    dst = swap_dims(accumulator()) if transposed else accumulator()
    rows = row_access(dst, 16, transposed=transposed)
    swizzling = swizzle_for([src, rows], 16)
    assert swizzling.conflicts == (0, 0)
    assert isinstance(swizzling.certificate.check(), Proved)
    access = shared_access(dst, swizzling.memory)
    found = matrix_access(access, 16, transposed=transposed)
    assert isinstance(found, MatrixAccess)
    assert (found.matrices, found.instructions) == (4, 2)
    tile = LaneTile((2, 3, 4), (0, 1)) if transposed else LaneTile((0, 1), (2, 3, 4))
    assert bank_conflicts(dst, swizzling.memory, 16, lane_tile=tile) == 0
    check_by_simulation(found, access.squeeze_outs("block"), 16)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ([2, 1, 4, 8, 16, 32, 64], "offset bit 0 must be one register bit alone"),
        ([64, 1, 2, 4, 8, 16, 32], "offset bit 0 must be one register bit alone"),
        (
            [1, 2, 6, 8, 16, 32, 64],
            "offset bit 1 must be lane bit 0 alone, but it is mixed",
        ),
        ([1, 2, 12, 8, 16, 32, 64], "offset bit 2 must be lane bit 1 alone"),
        ([1, 2, 4, 8, 16, 33, 64], "offset bit 0 must be one register bit alone"),
    ],
)
def test_other_offsets_are_no_rows(columns: list[int], reason: str) -> None:
    access = LinearLayout.from_columns(
        {"register": 1, "lane": 5, "warp": 1}, {"offset": 7}, columns
    )
    found = matrix_access(access, 16)
    assert isinstance(found, NoMatrixAccess)
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(
    ("registers", "lanes", "element_bits", "transposed", "reason"),
    [
        (3, 5, 64, False, "32 bits of a matrix, got 3 register bits of 64-bit"),
        (1, 5, 8, False, "32 bits of a matrix, got 1 register bits of 8-bit"),
        (3, 6, 16, False, "5 lane bits, got 6"),
        (3, 5, 32, True, "moves 16 bits, got 32"),
        (3, 5, 64, True, "moves 16 bits, got 64"),
    ],
)
def test_data_that_are_no_matrices(
    registers: int, lanes: int, element_bits: int, transposed: bool, reason: str
) -> None:
    layout = LinearLayout.from_columns(
        {"register": registers, "lane": lanes},
        {"offset": registers + lanes},
        [1 << i for i in range(registers + lanes)],
    )
    found = matrix_access(layout, element_bits, transposed=transposed)
    assert isinstance(found, NoMatrixAccess)
    assert reason in found.reason
    with pytest.raises(UnsupportedLayoutError, match=reason):
        row_access(layout, element_bits, transposed=transposed)


@pytest.mark.parametrize(
    ("block", "warp", "legal"),
    [(256, 64, True), (0, 64, True), (256, 128 + 256, False)],
)
def test_rows_stay_in_their_block(block: int, warp: int, legal: bool) -> None:
    access = LinearLayout.from_columns(
        {"register": 1, "lane": 5, "warp": 1, "block": 1},
        {"offset": 8, "block": 1},
        [1, 2, 4, 8, 16, 32, warp, block],
    )
    found = matrix_access(access, 16)
    assert isinstance(found, MatrixAccess if legal else NoMatrixAccess)
    if isinstance(found, NoMatrixAccess):
        assert "warp bit 0 reaches another one" in found.reason


def test_bad_arguments() -> None:
    memory = LinearLayout.identity_1d(64, "offset", "dim0")
    for function in (matrix_access, row_access):
        with pytest.raises(DimMismatchError, match="needs the in-dims"):
            function(memory, 16)
        with pytest.raises(NotPowerOfTwoError):
            function(accumulator(), 24)


@given(st.integers(min_value=0), st.booleans())
def test_conflicts_of_a_matrix_are_those_of_its_row_addresses(
    seed: int, transposed: bool
) -> None:
    access = random_matrix_access(seed, 16, transposed)
    memory = LinearLayout.identity_1d(
        access.get_total_out_dim_size(), "offset", "offset"
    )
    tile = LaneTile((2, 3, 4), (0, 1)) if transposed else LaneTile((0, 1), (2, 3, 4))
    found = matrix_access(access, 16, transposed=transposed)
    assert isinstance(found, MatrixAccess)
    names = access.get_in_dim_names()
    order = [*found.element_registers, *found.matrix_registers, *found.repeat_registers]
    columns = {name: access.in_columns(name) for name in names}
    columns["register"] = tuple(columns["register"][bit] for bit in order)
    permuted = LinearLayout.from_columns(
        {name: len(images) for name, images in columns.items()},
        {"offset": access.get_out_dim_size_log2("offset")},
        [image for images in columns.values() for image in images],
    )
    rows = row_access(permuted, 16, transposed=transposed)
    assert bank_conflicts(access, memory, 16, lane_tile=tile) == bank_conflicts(
        rows, memory, 16
    )
