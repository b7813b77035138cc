import numpy as np
import pytest

from verify.ptx.halt import FaultError, UnsupportedError
from verify.ptx.numeric import run_kernel

HEAD = """
.extern .shared .align 16 .b8 tile[];
.visible .entry kernel(.param .u64 .ptr .global a, .param .u64 .ptr .global b,
  .param .u32 n) .reqntid 32 {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;
  ld.param.b64 %rd1, [a]; ld.param.b64 %rd2, [b]; ld.param.b32 %r8, [n];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
  shl.b32 %r3, %r2, 5; add.s32 %r3, %r3, %r1;
  mad.wide.u32 %rd3, %r3, 4, %rd1; mad.wide.u32 %rd4, %r3, 4, %rd2;
"""


def run(
    body: str, source: np.ndarray, n: int = 0, programs: int = 2, batch: int = 64
) -> np.ndarray:
    target = np.full(32 * programs, -1, np.int32)
    run_kernel(
        HEAD + body + " ret; }", [source, target, n], (programs, 1, 1), batch=batch
    )
    return target


SOURCE = np.arange(64, dtype=np.int32) * 3


@pytest.mark.parametrize("batch", [1, 64])
def test_shared_memory_is_a_programs_own(batch: int) -> None:
    got = run(
        """ld.global.b32 %r4, [%rd3];
        mov.b32 %r5, tile; shl.b32 %r6, %r1, 2; add.s32 %r6, %r5, %r6;
        st.shared.b32 [%r6], %r4; bar.sync 0;
        xor.b32 %r6, %r6, 124; ld.shared.b32 %r4, [%r6];
        st.global.b32 [%rd4], %r4;""",
        SOURCE,
        batch=batch,
    )
    assert (got.reshape(2, 32) == SOURCE.reshape(2, 32)[:, ::-1]).all()


def test_a_loop() -> None:
    got = run(
        """mov.b32 %r4, 0; mov.b32 %r5, 0;
        $L1: add.s32 %r4, %r4, %r1; add.s32 %r5, %r5, 1;
        setp.lt.s32 %p1, %r5, %r8; @%p1 bra $L1;
        st.global.b32 [%rd4], %r4;""",
        SOURCE,
        n=5,
    )
    assert (got == np.tile(np.arange(32) * 5, 2)).all()


def test_guards() -> None:
    got = run(
        """setp.lt.s32 %p1, %r1, %r8; mov.b32 %r4, 7;
        @%p1 ld.global.b32 %r4, [%rd3]; @!%p1 add.s32 %r4, %r4, 1;
        @%p1 st.global.b32 [%rd4], %r4;""",
        SOURCE,
        n=3,
    )
    assert (got[:3] == SOURCE[:3]).all() and (got[3:32] == -1).all()


def test_shuffles_and_atomics() -> None:
    got = run(
        "shfl.sync.bfly.b32 %r4, %r1, 5, 31, -1; st.global.b32 [%rd4], %r4;", SOURCE
    )
    assert (got[:32] == (np.arange(32) ^ 5)).all()
    counter = SOURCE.copy()
    got = run(
        "atom.global.gpu.acq_rel.add.u32 %r4, [%rd1], 2; st.global.b32 [%rd4], %r4;",
        counter,
    )
    assert sorted(got.tolist()) == list(range(0, 128, 2))
    assert counter[0] == 128


def test_counting_at_a_barrier() -> None:
    got = run(
        """setp.lt.s32 %p1, %r3, 40; mov.b32 %r5, 1;
        barrier.cta.red.popc.aligned.u32 %r4, %r5, 32, %p1;
        st.global.b32 [%rd4], %r4;""",
        SOURCE,
    )
    assert (got == np.repeat([32, 8], 32)).all()
    with pytest.raises(UnsupportedError, match="not modelled"):
        run("barrier.cta.red.or.aligned.pred %p1, 1, 32, %p2;", SOURCE)


def test_threads_that_part() -> None:
    with pytest.raises(UnsupportedError, match="part at a branch"):
        run("setp.lt.s32 %p1, %r1, 3; @%p1 bra $L1; $L1: mov.b32 %r4, 0;", SOURCE)
    with pytest.raises(UnsupportedError, match="return early"):
        run("setp.lt.s32 %p1, %r1, 3; @%p1 ret;", SOURCE)


def test_what_is_not_modelled() -> None:
    with pytest.raises(UnsupportedError, match="sqrt"):
        run("sqrt.rn.f32 %r4, %r1;", SOURCE)
    with pytest.raises(UnsupportedError, match="never written"):
        run("add.s32 %r4, %r5, 1;", SOURCE)


def test_accesses_outside_buffers() -> None:
    with pytest.raises(FaultError, match="buffer"):
        run("ld.global.b32 %r4, [%rd3+256];", SOURCE)
    with pytest.raises(UnsupportedError, match="outside shared memory"):
        run("mov.b32 %r5, 1000000; st.shared.b32 [%r5], %r1;", SOURCE)
