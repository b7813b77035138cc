"""What ``Plan.emit`` returns: text to paste, and the function itself."""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from algebra.affine import AffineLayout
from algebra.errors import UnsupportedLayoutError
from algebra.layout import LinearLayout
from algebra.swizzle import optimal_swizzle
from compiler.convert.copies import without_copies
from compiler.convert.hardware import hardware_of
from compiler.convert.steps import Registers, Step
from compiler.runtime.cache import cached_file, content_key

from .conversion import FunctionText, hardware_function
from .declared import STATIC_BYTES
from .probe import memory_call, probe, takes_memory, tensor_probe
from .tensor_conversion import memory_function, standard_order, tensor_function

FORMS = ("hardware", "tensor", "memory")


@dataclass(frozen=True, slots=True)
class Emission:
    """A Gluon function that carries out a plan.

    Attributes:
        form: ``"hardware"``: ``convert(x)`` from places to places; ``"tensor"``:
            ``convert(x, layout)``; ``"memory"``: ``convert(x, layout, memory)``.
        function: Its text.
        src: Source layout.
        dst: Destination layout.
        element_bits: Size of an element [bits].
        is_planned: Whether it executes the plan's own steps; else Gluon's store and
            load through the certified memory layout.
    """

    form: str
    function: FunctionText
    src: AffineLayout
    dst: AffineLayout
    element_bits: int
    is_planned: bool

    @property
    def text(self) -> str:
        """The module: imports, constants, the function."""
        return self.function.text

    @property
    def probe(self) -> str:
        """A module with the kernel ``probe(source, target)`` around the function."""
        if self.form == "hardware":
            return probe(self.function, self.src, self.dst)
        there = None
        if takes_memory(self.text):
            order = standard_order(self.src.linear)
            shape = [self.src.out_dims[dim] for dim in order]
            there = memory_call(self.function.name, shape)
        return tensor_probe(self.function, self.src, self.dst, there=there)

    def load(self) -> Any:
        """Return the ``@gluon.jit`` function; imports triton."""
        return getattr(load_module(self.text), self.function.name)

    def load_probe(self) -> Any:
        """Return the ``@gluon.jit`` kernel ``probe``; imports triton."""
        return load_module(self.probe).probe


def load_module(text: str) -> Any:
    """Import a module from its text, by way of a cached file."""
    key = content_key("gluon", text)
    path = cached_file(f"{key}.py", lambda place: _write(place, text))
    spec = importlib.util.spec_from_file_location(f"tilewright_{key}", path)
    assert spec is not None and spec.loader is not None, "a file of Python"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _write(place: Path, text: str) -> None:
    place.write_text(text)


def emit(
    steps: Sequence[Step],
    src: AffineLayout,
    dst: AffineLayout,
    element_bits: int,
    *,
    form: str,
    name: str,
    shared_bytes: int,
    repeated: bool,
    tile: str,
    in_common: bool,
    renamed: bool,
    memory: LinearLayout | None,
    banks: int,
) -> Emission:
    """Return the function of a plan; arguments as ``Plan.emit``."""
    if form == "hardware":
        function = hardware_function(
            steps,
            hardware_of(src),
            element_bits,
            name=name,
            shared_bytes=shared_bytes,
            repeated=repeated,
            tile=tile,
            in_common=in_common,
            renamed=renamed,
        )
        return Emission(form, function, src, dst, element_bits, True)
    if form not in FORMS:
        raise UnsupportedLayoutError(
            f"form must be one of {list(FORMS)}, got form={form!r}", form=form
        )
    inner, near, far = _inner(steps, src, dst)
    if not inner:
        function = _renaming(name)
        return Emission(form, function, src, dst, element_bits, True)
    large = shared_bytes > STATIC_BYTES
    given = form == "memory"
    if not large and not given:
        found = tensor_function(
            inner,
            near,
            far,
            element_bits,
            name=name,
            shared_bytes=shared_bytes,
            repeated=repeated,
            tile=tile,
            in_common=in_common,
            renamed=renamed,
        )
        if found is not None:
            return Emission(form, found, src, dst, element_bits, True)
    _check_memory(src, dst)
    planned = memory is not None and (large or given)
    if memory is None:
        memory = optimal_swizzle(near.linear, far.linear, element_bits, banks).memory
    function = memory_function(memory, name=name, given=given)
    return Emission(form, function, src, dst, element_bits, planned)


def _check_memory(src: AffineLayout, dst: AffineLayout) -> None:
    if src.packed_offset != dst.packed_offset:
        raise UnsupportedLayoutError(
            "the tensor form takes no flips together with copies in lanes or warps, "
            f"got offset={dst.offset} against {src.offset}; use the hardware form",
        )
    if hardware_of(src).blocks:
        raise UnsupportedLayoutError(
            "the tensor form stays in its block; use the hardware form of each block"
        )


def _inner(
    steps: Sequence[Step], src: AffineLayout, dst: AffineLayout
) -> tuple[list[Step], AffineLayout, AffineLayout]:
    """Leave the dropping and making of copies in registers to Triton."""
    inner = list(steps)
    flips = len(inner) == 1 and src.packed_offset != dst.packed_offset
    near, far = src, dst
    if inner and isinstance(inner[0], Registers) and not flips:
        near = inner[0].source.compose(src)
        inner.pop(0)
    if inner and isinstance(inner[-1], Registers) and not flips:
        inner.pop()
        far = without_copies(dst)[1]
    return inner, near, far


def _renaming(name: str) -> FunctionText:
    body = [
        "from triton.experimental import gluon",
        "from triton.experimental.gluon import language as gl",
        "",
        "",
        "@gluon.jit",
        f"def {name}(x, layout: gl.constexpr):",
        '    """Rename registers."""',
        "    return gl.convert_layout(x, layout)",
        "",
    ]
    return FunctionText(name, "\n".join(body), None)
