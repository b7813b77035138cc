"""What is emitted compiles, and the PTX is proved by an engine that knows no plans."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import LinearLayout, Proved, UnsupportedLayoutError
from algebra.encodings import Blocked, DotOperand, NvidiaMma
from compiler.codegen.gluon.emission import Emission, load_module
from compiler.convert import plan, plans
from compiler.convert.hardware import hardware_of
from verify.oracle import gluon_child
from verify.oracle.random_conversions import random_pairs
from verify.oracle.wheel import Wheel
from verify.ptx.conversion import prove_conversion
from verify.strategies import ConversionCase, conversions

RELEASES = ("3.6.0", "3.7.1", "3.9.0")
CHILD = Path(gluon_child.__file__)


def blocked(*parameters: list[int]) -> Blocked:
    sizes, threads, warps, order = map(tuple, parameters)
    return Blocked(
        size_per_thread=sizes,
        threads_per_warp=threads,
        warps_per_cta=warps,
        order=order,
    )


HOPPER = NvidiaMma(version=(3, 0), warps_per_cta=(4, 1), instr_shape=(16, 64, 16))
CASES: dict[str, tuple[Any, Any, int]] = {
    "fp8 P to A": (HOPPER, DotOperand(op_idx=0, parent=HOPPER, k_width=4), 8),
    "matrices": (HOPPER, blocked([1, 8], [4, 8], [4, 1], [1, 0]), 16),
    "transpose of bytes": (
        blocked([1, 16], [8, 4], [4, 1], [1, 0]),
        blocked([16, 1], [4, 8], [1, 4], [0, 1]),
        8,
    ),
    "transpose": (
        blocked([1, 4], [4, 8], [4, 1], [1, 0]),
        blocked([4, 1], [8, 4], [1, 4], [0, 1]),
        32,
    ),
    "copies": (
        blocked([2, 2], [8, 4], [2, 2], [1, 0]),
        blocked([1, 1], [4, 8], [4, 1], [0, 1]),
        64,
    ),
}


def wheel(release: str, repository: Path) -> Wheel:
    path = repository.parent / ".oracle" / release
    if path.is_dir():
        return Wheel(path, child=CHILD)
    import triton

    if triton.__version__ != release:
        pytest.skip(f"no triton {release} beside the checkout")
    return Wheel(child=CHILD)


def job(emission: Emission) -> list[Any]:
    kind = f"*i{emission.element_bits}"
    warps = 1 << hardware_of(emission.src).warps
    signature = {"source": kind, "target": kind}
    return ["compile", emission.probe, "probe", signature, warps, 90]


def check(emissions: Sequence[Emission], triton: Wheel) -> None:
    with triton:
        answers = triton.ask([job(emission) for emission in emissions])
        for emission, answer in zip(emissions, answers, strict=True):
            assert "value" in answer, answer
            verdict = prove_conversion(
                answer["value"]["ptx"],
                emission.src,
                emission.dst,
                emission.element_bits,
            )
            assert isinstance(verdict, Proved), verdict


def named() -> Iterator[Emission]:
    for src, dst, bits in CASES.values():
        shape = [32, 32] if bits == 64 else [64, 64]
        found = plan(src.to_linear_layout(shape), dst.to_linear_layout(shape), bits)
        yield found.emit("hardware")
        yield found.emit("tensor", repeated=False)
    names = {"register": 3, "lane": 5, "warp": 0}
    near, far = (
        LinearLayout.from_columns(names, {"dim0": 8}, columns)
        for columns in (
            [128, 4, 1, 64, 8, 16, 32, 2],
            [64, 4, 8, 128, 16, 32, 1, 2],
        )
    )
    for one in plans(near, far, 32, family="parted"):
        yield one.emit("tensor")
    # bytes that lie in another order in memory, on the side that has fewer of them
    names = {"register": 1, "lane": 5, "warp": 0}
    few = LinearLayout.from_columns(names, {"dim0": 6}, [32, 2, 16, 4, 1, 8])
    names = {"register": 4, "lane": 5, "warp": 0}
    many = LinearLayout.from_columns(names, {"dim0": 6}, [0, 1, 2, 32, 0, 0, 4, 8, 16])
    for sides in ((few, many), (many, few)):
        memory = next(p for p in plans(*sides, 8) if p.shared_bytes)
        renamed = memory.emit("hardware", renamed=True)
        assert renamed.function.block is not None
        assert renamed.function.block.taken or renamed.function.block.left
        yield renamed
    eight, four = (
        blocked([size], [32], [4], [0]).to_linear_layout([1024]) for size in (8, 4)
    )
    for one in plans(eight, four, 16, family="even"):
        yield one.emit("tensor")


def random(seed: int, count: int) -> list[Emission]:
    """Emissions of random pairs that a kernel of one block can have."""
    found: list[Emission] = []
    for pair in random_pairs(seed, 20 * count):
        one = plan(pair.src, pair.dst, pair.element_bits)
        src, dst = hardware_of(one.src), hardware_of(one.dst)
        fits = max(src.registers, dst.registers) <= 7
        if src.blocks or src.lanes != 5 or pair.element_bits > 64 or not fits:
            continue
        found.append(one.emit("hardware"))
        if len(found) == count:
            break
    assert len(found) == count
    return found


@pytest.mark.parametrize("release", RELEASES)
def test_named_conversions_are_proved(release: str, repository: Path) -> None:
    check(list(named()), wheel(release, repository))


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_random_conversions_are_proved(release: str, repository: Path) -> None:
    count = 500 if release == "3.7.1" else 40
    check(random(5, count), wheel(release, repository))


def test_no_emission_is_a_single_conversion() -> None:
    for emission in named():
        assert emission.is_planned == (
            "inline_asm" in emission.text or emission.function.block is not None
        )
        assert "inline_asm" in emission.text or "memory.store" in emission.text


def test_functions_are_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    emission = next(named())
    assert emission.load().__name__ == "convert"
    assert emission.load_probe().__name__ == "probe"
    assert load_module("value = 3").value == 3
    assert list(tmp_path.glob("*.py"))


def test_refused_forms() -> None:
    layout = LinearLayout.identity_1d(2, "register", "dim0")
    turned = LinearLayout.from_bases({"register": [[3], [1]]}, ["dim0"])
    with pytest.raises(UnsupportedLayoutError, match="form"):
        plan(layout, layout, 32).emit("words")
    mixed = LinearLayout.from_bases({"register": [[1], [2]]}, ["dim0"])
    assert "convert_layout" in plan(mixed, turned, 32).emit("tensor").text


def half_words() -> Iterator[Emission]:
    """Files of less than a word, as a run on a GPU found them wrong once."""
    lanes = [[1], [2], [4], [8], [16]]
    src = LinearLayout.from_bases({"register": [], "lane": lanes}, ["dim0"])
    for moved in ([[16], [2], [4], [8], [3]], [[16], [2], [17], [4], [8]]):
        dst = LinearLayout.from_bases({"register": [[1]], "lane": moved}, ["dim0"])
        for bits in (8, 16):
            for found in plans(src, dst, bits):
                yield found.emit("hardware")


def large_elements() -> Iterator[Emission]:
    """A lane that differs by a repetition; wrong on a GPU once."""
    registers, warps = [[1], [2], [4], [8]], [[512], [1024], [2048]]
    rest = [[32], [64], [128], [256]]
    src = LinearLayout.from_bases(
        {"register": registers, "lane": [[24], *rest], "warp": warps}, ["dim0"]
    )
    dst = LinearLayout.from_bases(
        {"register": registers, "lane": [[16], *rest], "warp": warps[::-1]}, ["dim0"]
    )
    for found in plans(src, dst, 128):
        yield found.emit("hardware")


def test_what_was_wrong_once_is_proved(repository: Path) -> None:
    check([*half_words(), *large_elements()], wheel("3.7.1", repository))


def test_memory_of_the_caller_is_proved(repository: Path) -> None:
    src, dst, bits = CASES["matrices"]
    found = plan(src.to_linear_layout([64, 64]), dst.to_linear_layout([64, 64]), bits)
    emission = found.emit("memory")
    assert "layout: gl.constexpr, memory" in emission.text and emission.is_planned
    check([emission], wheel("3.7.1", repository))


@pytest.mark.slow
def test_any_two_layouts_are_proved() -> None:
    """Every way of planning, on layouts that hypothesis draws."""
    from compiler.triton_api import compile_gluon

    @settings(max_examples=120)
    @given(conversions(max_register_bits=3, max_warp_bits=2), st.integers(0, 9))
    def every_way(case: ConversionCase, number: int) -> None:
        found = plans(case.src, case.dst, case.element_bits)
        emission = found[number % len(found)].emit("hardware")
        kind = f"*i{emission.element_bits}"
        compiled = compile_gluon(
            emission.load_probe(),
            {"source": kind, "target": kind},
            {},
            num_warps=1 << hardware_of(emission.src).warps,
        )
        verdict = prove_conversion(
            compiled.asm["ptx"], emission.src, emission.dst, emission.element_bits
        )
        assert isinstance(verdict, Proved), verdict

    every_way()
