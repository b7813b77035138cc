"""The one door to what Triton keeps to itself."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from compiler.triton_api import compile_kernel, interpreted, reinterpret

DRIVER = """
#include <stdint.h>
#include <stdio.h>
typedef struct {
  unsigned gx, gy, gz, bx, by, bz, shared; void *stream; void *attributes; unsigned n;
} Config;
int cuLaunchKernelEx(Config *c, void *f, void **p, void **e) {
  printf("%u %u %u %u %u %p %p", c->gx, c->gy, c->gz, c->bx, c->shared, c->stream, f);
  for (int i = 0; i < 6; i++) printf(" %llx", (unsigned long long)*(uint64_t *)p[i]);
  printf("\\n");
  fflush(stdout);
  return 0;
}
int cuCtxGetCurrent(void **c) { *c = (void *)1; return 0; }
int cuFuncGetAttribute(int *v, int a, void *f) { *v = 0; return 0; }
"""
"""Stands for ``libcuda``: prints what a launch passes to the GPU."""

CHILD = """
import sys
from types import SimpleNamespace as Facts
import triton
from triton.backends.nvidia import driver
sys.path.insert(0, sys.argv[1])
from compiler import triton_api
if hasattr(driver, "make_launcher"):
    triton_api.prepare_launcher(8)
else:
    active = Facts(utils=driver.CudaUtils(), get_current_stream=lambda device: 85)
    triton.runtime.driver.set_active(active)
facts = dict.fromkeys(("launch_cooperative_grid", "launch_pdl"), False)
for kind in ("global", "profile"):
    facts |= {f"{kind}_scratch_size": 0, f"{kind}_scratch_align": 1}
types = {"a": "*bf16", "b": "*fp32", "c": "*i64", "n": "i64"}
source = Facts(constants={}, signature=types, fn=Facts(arg_names=list(types)))
metadata, arguments = (4, 1, 64), (0x1000, 0x2000, 0x3000, 99)
plain = driver.CudaLauncher(source, Facts(num_ctas=1, **facts))
compiled = Facts(src=source, metadata=Facts(num_ctas=1, **facts))
rest = triton_api.widened(compiled)
assert len(rest) == (4 if hasattr(driver, "make_launcher") else 0), rest
run = driver.CudaLauncher(compiled.src, compiled.metadata)
triton_api._c_launch(run, 3840, metadata)(7, 85, (*arguments, *rest))
plain(7, 1, 1, 85, 3840, metadata, None, None, None, *arguments)
"""


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def double(x, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    places = x + tl.arange(0, BLOCK)
    tl.store(places, tl.load(places) * 2)


def test_interpreted_runs_on_the_cpu() -> None:
    x = torch.arange(8)
    interpreted(double)[(1,)](x, BLOCK=8)
    assert x.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


@pytest.mark.parametrize("element_bytes", [1, 2, 4, 8])
def test_reinterpret_changes_the_element(element_bytes: int) -> None:
    x = torch.arange(16, dtype=torch.uint8)
    view = reinterpret(x, element_bytes)
    assert view.dtype.primitive_bitwidth == 8 * element_bytes
    assert view.data_ptr() == x.data_ptr()


def test_compile_needs_no_gpu() -> None:
    kernel = compile_kernel(double, {"x": "*fp32"}, {"BLOCK": 64}, aligned=("x",))
    assert ".target sm_90" in kernel.asm["ptx"]


def test_the_c_launcher_gets_what_its_release_expects() -> None:
    """Both orders of arguments, as the drivers of 3.6 and of 3.7 pass them on."""
    from types import SimpleNamespace

    from compiler.triton_api import _c_launch

    heard: list[tuple[object, ...]] = []

    def listen(*arguments: object) -> None:
        heard.append(arguments)

    old = SimpleNamespace(
        launch=listen,
        global_scratch_size=0,
        profile_scratch_size=0,
        launch_cooperative_grid=False,
        launch_pdl=False,
    )
    _c_launch(old, "function", "metadata")(7, "stream", (1, 2))
    assert heard.pop() == (
        *(7, 1, 1, "stream", "function", False, False, None, None),
        *("metadata", None, None, None, 1, 2),
    )
    new = SimpleNamespace(
        **vars(old), arg_annotations="annotations", kernel_signature="signature"
    )
    _c_launch(new, "function", "metadata")(7, "stream", (1, 2))
    assert heard.pop() == (
        *(7, 1, 1, "stream", "function", False, False, "metadata"),
        *(None, None, None, None, None, "annotations", "signature", (1, 2)),
    )


def test_a_launch_that_needs_scratch_memory_goes_through_triton() -> None:
    from compiler.triton_api import _c_launch

    class Run:
        global_scratch_size, profile_scratch_size = 16, 0

        def __call__(self, *arguments: object) -> tuple[object, ...]:
            return arguments

    found = _c_launch(Run(), "function", "metadata")(7, "stream", (1, 2))
    assert found == (7, 1, 1, "stream", "function", "metadata", None, None, None, 1, 2)


def test_scratch_memory_is_torchs_during_the_launch_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch
    from triton.runtime import _allocation

    from compiler.triton_api import _with_scratch

    given = torch.empty
    monkeypatch.setattr(
        torch, "empty", lambda size, dtype, device: given(size, dtype=dtype)
    )
    got = []

    def launch(programs: int) -> None:
        got.append(_allocation._allocator.get()(128 * programs, 128, None))
        if programs > 2:
            raise RuntimeError("refused")

    before = _allocation._allocator.get()
    _with_scratch(launch, 0)(2)
    with pytest.raises(RuntimeError, match="refused"):
        _with_scratch(launch, 0)(3)
    assert [memory.numel() for memory in got] == [256, 384]
    assert _allocation._allocator.get() is before


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_the_interpreter_multiplies_matrices_of_half_types(name: str) -> None:
    import torch

    from compiler.triton_api import faithful_interpreter, interpreted

    a, b = (torch.randn(16, 16).to(getattr(torch, name)) for _ in range(2))
    out = torch.empty(16, 16)
    with faithful_interpreter():
        interpreted(multiplied)[(1,)](a, b, out)
    torch.testing.assert_close(out, a.float() @ b.float())


def test_the_interpreter_widens_subnormal_numbers() -> None:
    import torch

    from compiler.triton_api import faithful_interpreter, interpreted

    x = torch.arange(-128, 128, dtype=torch.int16).view(torch.bfloat16)
    out = torch.empty(256)
    with faithful_interpreter():
        interpreted(widened)[(1,)](x, out)
    assert out.view(torch.int32).equal(x.float().view(torch.int32))


@triton.jit
def widened(x, out):  # type: ignore[no-untyped-def]
    at = tl.arange(0, 256)
    tl.store(out + at, tl.load(x + at).to(tl.float32))


@triton.jit
def multiplied(a, b, out):  # type: ignore[no-untyped-def]
    at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(out + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@pytest.mark.parametrize("size", [1, 4])
def test_the_interpreter_broadcasts_a_number_in_functions(size: int) -> None:
    import torch

    from compiler.triton_api import faithful_interpreter, interpreted

    x, out = torch.arange(1.0, size + 1), torch.empty(size)
    with faithful_interpreter():
        interpreted(rests)[(1,)](x, out, size=size)
    assert out.equal(torch.where(torch.fmod(torch.tensor(5.0), x) > 0, 1.0, 0.0))


@triton.jit  # type: ignore[untyped-decorator]
def rests(x, out, size: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.arange(0, size)
    rest = libdevice.fmod(tl.load(x) * 0 + 5.0, tl.load(x + at))
    some = (rest > 0) & (at < size)
    tl.store(out + at, tl.where(some, 1.0, 0.0))


def test_the_interpreter_broadcasts_a_truth_value() -> None:
    import torch

    from compiler.triton_api import faithful_interpreter, interpreted

    for number in (0.0, 2.0):
        x, y = torch.tensor([number, -1.0, 0.0, 3.0]), torch.tensor([1, 0, 0, 2])
        out = torch.empty(4, dtype=torch.bool)
        with faithful_interpreter():
            interpreted(differs)[(1,)](x, y, out)
        assert out.equal((y != 0) ^ bool(number))


@triton.jit
def differs(x, y, out):  # type: ignore[no-untyped-def]
    at = tl.arange(0, 4)
    tl.store(out + at, (tl.load(x) != 0) ^ (tl.load(y + at) != 0))


def test_a_launcher_is_built_beforehand_only_where_the_release_builds_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from triton.backends.nvidia import driver

    from compiler.triton_api import prepare_launcher

    built: list[dict[str, object]] = []
    monkeypatch.delattr(driver, "make_launcher", raising=False)
    prepare_launcher(8)
    for name, value in {
        "make_launcher": lambda constants, types, meta: repr((constants, types, meta)),
        "compile_module_from_src": lambda **given: built.append(given),
        "library_dirs": lambda: ["here"],
        "include_dirs": [],
        "libraries": [],
    }.items():
        monkeypatch.setattr(driver, name, value, raising=False)
    prepare_launcher(8)
    (found,) = built
    types = dict.fromkeys((f"argument_{number}" for number in range(8)), "i64")
    assert found["src"] == repr(({}, types, None))
    assert found["name"] == "__triton_launcher"


def test_kernels_that_need_scratch_memory_keep_their_own_launcher(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from types import SimpleNamespace

    from triton.backends.nvidia import driver

    from compiler.triton_api import widened

    monkeypatch.setattr(driver, "make_launcher", lambda *given: "", raising=False)

    def compiled(scratch: int) -> SimpleNamespace:
        metadata = SimpleNamespace(global_scratch_size=scratch, profile_scratch_size=0)
        fn = SimpleNamespace(arg_names=["a", "n"])
        src = SimpleNamespace(fn=fn, signature={"a": "*fp32", "n": "i64"})
        return SimpleNamespace(metadata=metadata, src=src)

    needy, plain = compiled(16), compiled(0)
    assert widened(needy) == () and list(needy.src.signature) == ["a", "n"]
    given = plain.src
    assert widened(plain) == (0,) * 6 and set(plain.src.signature.values()) == {"i64"}
    assert list(given.signature) == ["a", "n"]
    assert widened(plain) == (0,) * 6  # on another device
    monkeypatch.delattr(driver, "make_launcher")
    assert widened(compiled(0)) == ()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_the_short_way_launches_what_tritons_own_way_launches(tmp_path: Path) -> None:
    source = tmp_path / "driver.c"
    source.write_text(DRIVER)
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(tmp_path),
        "TRITON_LIBCUDA_PATH": str(tmp_path),
        "TRITON_CACHE_DIR": str(tmp_path / "cache"),
    }
    root = str(Path(__file__).parents[2])
    for _ in range(30):
        library = str(tmp_path / "libcuda.so.1")
        build = ["gcc", "-shared", "-fPIC", "-o", library, str(source)]
        subprocess.run(build, check=True)
        done = subprocess.run(
            [sys.executable, "-c", CHILD, root],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        lacking = re.search(r"undefined symbol: (\w+)", done.stderr)
        if lacking is None:
            break
        # a function that this release links to and no launch calls
        with source.open("a") as file:
            file.write(f"int {lacking[1]}(void) {{ return 0; }}\n")
    assert done.returncode == 0, done.stderr
    ours, theirs = done.stdout.splitlines()
    assert ours == theirs == "7 1 1 128 64 0x55 0xf00 1000 2000 3000 63 0 0"
