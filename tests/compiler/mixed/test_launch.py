import pytest
import torch

from compiler.errors import BackendError
from compiler.mixed.formats import FORMATS
from compiler.mixed.launch import Counters, _choose, build, check_arch
from compiler.mixed.tiling import Problem, Tiling


def test_kernels_are_built_once() -> None:
    problem = Problem(format=FORMATS["int4"], target="bf16", n=64, k=256, group=128)
    tiling = Tiling(rows=8, warps_k=2)
    text, compiled = build(problem, tiling, True)
    assert build(problem, tiling, True)[1] is compiled
    assert text.signature["weight"] == "*i32"
    assert "ld.global" in compiled.asm["ptx"]
    assert not compiled.metadata.launch_pdl
    assert text.programs == (4, 1)


def test_a_dependent_launch_is_marked() -> None:
    problem = Problem(format=FORMATS["int4"], target="bf16", n=16, k=64, group=64)
    tiling = Tiling(rows=8, warps_k=1, depth=64, dependent=True)
    compiled = build(problem, tiling, False)[1]
    assert compiled.metadata.launch_pdl
    ptx = compiled.asm["ptx"]
    assert ptx.index("evict_first") < ptx.index("griddepcontrol.wait")


def test_launches_take_counters_in_turn() -> None:
    counters = Counters(torch.device("cpu"))
    first, second = counters.take(10), counters.take(10)
    assert first.data_ptr() != second.data_ptr()
    assert not counters.slots.any()
    for _ in range(Counters.SLOTS - 2):
        counters.take(10)
    assert counters.take(10).data_ptr() == first.data_ptr()
    assert counters.take(Counters.TILES + 1).shape == (Counters.TILES + 1,)


def test_older_gpus_are_refused() -> None:
    check_arch(90, None)
    with pytest.raises(BackendError, match="sm_80"):
        check_arch(80, None)
    with pytest.raises(BackendError, match="hip=7"):
        check_arch(94, "7.0")


def test_wgmma_is_for_one_gpu() -> None:
    problem = Problem(format=FORMATS["int4"], target="bf16", n=64, k=256, group=128)
    tiling = Tiling(rows=32, warps_k=1, warps_n=4, wgmma=True)
    assert "wgmma" in build(problem, tiling, True)[1].asm["ptx"]
    with pytest.raises(BackendError, match="sm_100"):
        build(problem, tiling, True, 100)


def test_a_kernel_with_wgmma_that_spills_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = Problem(format=FORMATS["int4"], target="bf16", n=64, k=256, group=128)
    monkeypatch.setattr("compiler.triton_api.spilled", lambda compiled: False)
    tiling, _, compiled = _choose(problem, 64, 90, None)
    assert tiling.wgmma and "wgmma" in compiled.asm["ptx"]
    monkeypatch.setattr("compiler.triton_api.spilled", lambda compiled: True)
    other, _, compiled = _choose(problem, 64, 90, None)
    assert not other.wgmma and "wgmma" not in compiled.asm["ptx"]
    with pytest.raises(BackendError, match="rows=64, row_tiles=1, depth=128"):
        _choose(problem, 64, 90, tiling)
