"""Compilation in other processes lands in the cache that this one reads."""

from pathlib import Path

import pytest

from compiler.ir.index import digit, index
from compiler.ir.kernel import Kernel, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import apply, constant, load
from compiler.runtime.triton_kernel import TritonKernel
from compiler.runtime.triton_pool import NOT_COMPILED, CompilePool


def scaled(factor: float) -> TritonKernel:
    from compiler.codegen.triton import print_kernel

    i, size = digit("i"), index(1024)
    buffers = {
        name: Buffer(name, "float32", (size,), "cuda:0", (index(1),))
        for name in ("a", "out")
    }
    value = apply("mul", load("a", (i,), "float32"), constant(factor, "float32"))
    store = Store("out", (i,), value, False)
    kernel = Kernel("scaled", (Axis(i, size),), (), (store,), buffers)
    return TritonKernel(print_kernel(kernel))


def test_jobs_are_compiled_and_errors_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "ours"))
    pool = CompilePool(1)
    try:
        good = scaled(2.0).job(90)
        bad = {**good, "name": "missing"}
        answers = pool.compile([good, bad])
        assert answers[0] == "" and "missing" in answers[1]
        before = list((tmp_path / "triton").glob("*/*.cubin"))
        assert len(before) == 1
        assert scaled(2.0).compile(arch=90).asm["ptx"]
        assert list((tmp_path / "triton").glob("*/*.cubin")) == before
    finally:
        pool.stop()


def test_a_process_begins_before_all_jobs_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "ours"))
    pool = CompilePool(1)
    try:
        pool.start()
        job = scaled(2.0).job(90)
        first = pool.submit(job)
        assert first.done.wait(120)
        assert first.answer == ""
        second = pool.submit({**job, "name": "missing"})
        answers = pool.finish([first, second])
        assert answers[0] == "" and "missing" in answers[1]
    finally:
        pool.stop()


def test_a_dead_process_leaves_the_job_to_the_caller() -> None:
    pool = CompilePool(1)
    pool.start()
    for worker in pool._workers:
        worker.kill()
        worker.wait()
    assert pool.compile([scaled(3.0).job(90)]) in ([NOT_COMPILED], [""])
    pool.stop()


def test_the_caller_compiles_without_waiting_for_processes() -> None:
    pool = CompilePool(1)
    done: list[int] = []
    jobs = [scaled(float(number)).job(90) for number in range(4, 6)]
    try:
        assert pool.compile(jobs, done.append) == ["", ""]
        assert done
    finally:
        pool.stop()
