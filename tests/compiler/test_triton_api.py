"""The one door to what Triton keeps to itself."""

import pytest
import torch
import triton
import triton.language as tl

from compiler.triton_api import compile_kernel, interpreted, reinterpret


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


def test_a_launcher_is_built_beforehand_only_where_the_release_builds_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from triton.backends.nvidia import driver

    from compiler.triton_api import prepare_launcher

    built: list[dict[str, object]] = []
    monkeypatch.delattr(driver, "make_launcher", raising=False)
    prepare_launcher(2, 1)
    for name, value in {
        "make_launcher": lambda constants, types, meta: repr((constants, types, meta)),
        "compile_module_from_src": lambda **given: built.append(given),
        "library_dirs": lambda: ["here"],
        "include_dirs": [],
        "libraries": [],
    }.items():
        monkeypatch.setattr(driver, name, value, raising=False)
    prepare_launcher(2, 1)
    (found,) = built
    assert found["src"] == "({}, {0: '*i8', 1: '*i8', 2: 'i64'}, None)"
    assert found["name"] == "__triton_launcher"
