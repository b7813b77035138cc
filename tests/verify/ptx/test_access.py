from collections.abc import Callable

import numpy as np
import pytest

from verify.ptx.halt import FaultError, UnsupportedError
from verify.ptx.machine import Machine

Run = Callable[..., Machine]
LOAD = "ld.global.b32 %r2, [%rd3]; mov.b32 %r3, smem; mad.lo.s32 %r4, %r1, 4, %r3;"


def codes(machine: Machine, register: str, thread: int = 0) -> list[int]:
    found = machine.registers[register].codes
    assert found is not None
    return [int(code) for code in found[thread]]


def test_through_shared_memory(run: Run) -> None:
    text = """
    st.shared.b32 [%r4], %r2; bar.sync 0; xor.b32 %r5, %r1, 1;
    mad.lo.s32 %r6, %r5, 4, %r3; ld.shared.b32 %r7, [%r6];"""
    assert codes(run(LOAD + text), "%r7") == [5, 6, 7, 8]


def test_without_a_barrier(run: Run) -> None:
    text = """
    st.shared.b32 [%r4], %r2; xor.b32 %r5, %r1, 1;
    mad.lo.s32 %r6, %r5, 4, %r3; ld.shared.b32 %r7, [%r6];"""
    with pytest.raises(FaultError, match="race: thread 0") as caught:
        run(LOAD + text)
    assert "thread 1" in caught.value.fault.expected


def test_vectors(run: Run) -> None:
    text = """
    mad.lo.s32 %r4, %r1, 8, %r3; st.shared.v2.b32 [%r4], {%r2, 0};
    ld.shared.v4.b16 {%rs1, %rs2, %rs3, _}, [%r4];"""
    machine = run(LOAD + text)
    assert codes(machine, "%rs2") == [3, 4]
    assert machine.registers["%rs3"].is_number


def test_narrow_loads_extend(run: Run) -> None:
    machine = run(LOAD + "ld.global.b8 %rs1, [%rd3+1]; ld.global.u8 %r5, [%rd3+2];")
    assert codes(machine, "%rs1") == [2, -1]
    assert codes(machine, "%r5") == [3, -1, -1, -1]


def test_narrow_stores_cut(run: Run) -> None:
    text = "st.shared.b8 [%r4+1], %r2; ld.shared.b8 %rs1, [%r4+1];"
    assert codes(run(LOAD + text), "%rs1") == [1, -1]


def test_cache_hints_change_nothing(run: Run) -> None:
    text = "ld.global.nc.L1::evict_first.b32 %r5, [%rd3];"
    assert codes(run(LOAD + text), "%r5") == [1, 2, 3, 4]


def test_a_guarded_load_keeps_the_rest(run: Run) -> None:
    text = "setp.eq.u32 %p1, %r1, 0; mov.b32 %r5, 7; @%p1 ld.global.b32 %r5, [%rd3];"
    machine = run(LOAD + text)
    assert codes(machine, "%r5", 0) == [1, 2, 3, 4]
    assert codes(machine, "%r5", 1) == [-8, -1, -1, -1]


def store_tile(run: Run, transposed: str) -> Machine:
    """Each lane stores its element; the warp loads the rows as one matrix tile.

    Row r of the tile is 16 bytes: elements 4r to 4r+3 of 32 bits, or eight of 16 bits.
    """
    text = f"""
    st.shared.b32 [%r4], %r2; bar.sync 0;
    and.b32 %r5, %r1, 7; mad.lo.s32 %r6, %r5, 16, %r3;
    ldmatrix.sync.aligned.m8n8.x1{transposed}.shared.b16 {{%r7}}, [%r6];"""
    return run(LOAD + text)


def test_load_matrix(run: Run) -> None:
    machine = store_tile(run, "")
    for lane in range(32):
        expected = [4 * lane + byte + 1 for byte in range(4)]
        assert codes(machine, "%r7", lane) == expected


def test_load_matrix_transposed(run: Run) -> None:
    machine = store_tile(run, ".trans")
    for lane in range(32):
        row, column = 2 * (lane % 4), lane // 4
        expected = [
            16 * (row + k) + 2 * column + byte + 1 for k in (0, 1) for byte in (0, 1)
        ]
        assert codes(machine, "%r7", lane) == expected


@pytest.mark.parametrize("transposed", ["", ".trans"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_store_matrix_is_the_inverse(run: Run, transposed: str, count: int) -> None:
    registers = ", ".join(f"%r{10 + i}" for i in range(count))
    back = ", ".join(f"%r{20 + i}" for i in range(count))
    load = "".join(f"ld.global.b32 %r{10 + i}, [%rd3+{4 * i}];" for i in range(count))
    text = f"""
    mad.lo.s32 %r6, %r1, 16, %r3; {load}
    stmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16 [%r6], {{{registers}}};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16 {{{back}}}, [%r6];"""
    machine = run(LOAD + text)
    for i in range(count):
        assert codes(machine, f"%r{20 + i}", 9) == codes(machine, f"%r{10 + i}", 9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ldmatrix.sync.aligned.m16n16.x1.shared.b8 {%r5}, [%r3];", "this shape"),
        ("@%p1 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r3];", "all lanes"),
        ("ld.shared.b32 %r5, [%rd3];", "a pointer to the input"),
        ("ld.shared.b32 %r5, [%r1];", "no pointer as an address"),
        ("ld.shared.b32 %r5, [%r2];", "an address depends on data"),
        ("st.shared.b64 [%r3], %rd3;", "a pointer is stored"),
        ("ld.global.v2.b32 {%r5, %r6, %r7}, [%rd1];", "3 registers for 2"),
        ("ld.global.b32 %rs1, [%rd3];", "16 bits are too few"),
        ("st.shared::cluster.b32 [%r3], %r2;", "modifier .shared::cluster"),
        ("ld.volatile.shared.b32 %r5, [%r3];", "modifier .volatile"),
    ],
)
def test_what_is_not_modelled(run: Run, text: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        run(LOAD + "st.shared.b32 [%r4], 0; setp.eq.u32 %p1, %r1, 0;" + text)


def test_a_variable_ends_where_the_next_begins(run: Run) -> None:
    text = """
    .shared .align 16 .b8 one[128]; .shared .align 16 .b8 two[128];
    mov.b32 %r5, one; mad.lo.s32 %r6, %r1, 4, %r5; st.shared.b32 [%r6+16], 0;"""
    with pytest.raises(FaultError, match="outside shared memory: thread 28"):
        run(text)


def test_an_access_wider_than_the_alignment(run: Run) -> None:
    text = ".shared .align 4 .b8 one[128]; st.shared.b64 [one], 0;"
    with pytest.raises(UnsupportedError, match="aligned to 4 bytes only"):
        run(text)


def test_addresses_of_64_bits(run: Run) -> None:
    text = "cvt.u64.u32 %rd5, %r4; st.shared.b32 [%rd5], %r2; ld.shared.b32 %r5, [%r4];"
    assert codes(run(LOAD + text), "%r5") == [1, 2, 3, 4]


def test_rows_of_matrices_are_aligned(run: Run) -> None:
    text = """
    st.shared.b32 [%r4], 0; bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4];"""
    with pytest.raises(FaultError, match="misaligned address: thread 1"):
        run(LOAD + text)


def test_a_parameter_that_is_not_given(run: Run) -> None:
    machine = run("ld.param.b64 %rd5, [other];")
    assert "parameter other" in machine.table.reason(codes(machine, "%rd5")[0])


def test_loads_and_stores_are_remembered(run: Run) -> None:
    machine = run(LOAD + "st.global.b32 [%rd4], %r2;")
    assert machine.buffers.loads[0].ravel().tolist() == list(range(32))
    assert machine.buffers.stores[0].ravel().tolist() == list(range(32))
    assert np.flatnonzero(machine.buffers.covered).tolist() == list(range(128))
