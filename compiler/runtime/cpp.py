"""C++ kernels that can be called: many in few libraries, each a ctypes function.

Libraries are compiled side by side, one process of the compiler for each, and cached by
content, so a second process compiles nothing.
"""

import ctypes
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from pickle import PicklingError
from typing import Any, Final

import torch

from compiler.ir.expression import Expression

from .build import kept_library, load_library
from .cache import cache_directory

FLAGS: Final = (
    "-std=c++17",
    "-O3",
    "-march=native",
    "-fopenmp",
    "-shared",
    "-fPIC",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-w",
)
"""Options for the compiler; none changes a rounding.

``-fno-strict-aliasing``: tiles are turned as words of their width and read as numbers,
and an array may lie in the memory of one of another type.

``-fno-trapping-math`` takes a cast to an integer and back for a truncation, which keeps
the sign of zero and what no integer holds: ``codegen.cpp.spelling`` hides such casts.
"""

LIBRARIES: Final = ("-lmvec", "-lm")

_PER_LIBRARY: Final = 6
"""Kernels below which one more process of the compiler does not pay."""


@dataclass(frozen=True, slots=True)
class Source:
    """Text of one kernel.

    Attributes:
        name: Of the kernel.
        entry: Of its function.
        text: A function ``extern "C" i32 entry(pointers..., sizes...)``.
        parameters: Names of buffers in the order of the call.
        symbols: Sizes in the order of the call.
    """

    name: str
    entry: str
    text: str
    parameters: tuple[str, ...]
    symbols: tuple[Expression, ...]


class CppKernel:
    """A compiled kernel; see :class:`compiler.runtime.built.Built`."""

    __slots__ = ("_function", "_library", "_text", "parameters", "source", "symbols")

    def __init__(self, source: Source, function: Any, library: str = "") -> None:
        """Take a kernel's source and its entry point.

        Args:
            source: What was compiled.
            function: ctypes function of the entry point.
            library: Path of its library; where it is in the cache, the kernel can be
                pickled, and comes back in a process without a compiler.
        """
        pointers = [ctypes.c_void_p] * len(source.parameters)
        function.argtypes = [*pointers, *[ctypes.c_int64] * len(source.symbols)]
        function.restype = ctypes.c_int32
        self._function = function
        self._library = Path(library)
        self._text = source
        self.parameters = source.parameters
        self.symbols = source.symbols
        self.source = source.text

    @property
    def entry(self) -> Any:
        """The function of addresses, then sizes, that returns a status.

        A wrapper calls it directly; see :func:`raise_status`.
        """
        return self._function

    def __reduce__(self) -> tuple[Any, ...]:
        if self._library.parent != cache_directory():
            raise PicklingError(
                f"a library in {cache_directory()} was needed, {self._text.name} is in "
                f"{self._library.parent}"
            )
        return kept_kernel, (self._text, self._library.name)

    def __call__(self, *arguments: Any) -> None:
        """Run the kernel on tensors, then sizes.

        Raises:
            IndexError: An index was out of range.
            RuntimeError: An integer was divided by zero.
        """
        bad = self._function(
            *[a.data_ptr() if isinstance(a, torch.Tensor) else a for a in arguments]
        )
        if bad:
            raise_status(bad)


def raise_status(status: int) -> None:
    """Raise what eager mode raises for a kernel's status."""
    if status & 1:
        raise IndexError("index out of range in self")
    raise RuntimeError("ZeroDivisionError")


def kept_kernel(source: Source, library: str) -> CppKernel:
    """Return a kernel that an earlier process compiled.

    Args:
        source: What it was compiled from.
        library: Name of its library's file in the cache.

    Raises:
        OSError: The library is not there, or not whole.
    """
    loaded = kept_library(library)
    return CppKernel(source, getattr(loaded, source.entry), loaded._name)


def load_kernels(prelude: str, sources: Sequence[Source]) -> dict[str, CppKernel]:
    """Compile and load kernels.

    Args:
        prelude: Text that goes before them.
        sources: The kernels; their names are distinct.

    Raises:
        BuildError: There is no compiler, or it refuses a source.
    """
    groups = _groups(sources)
    texts = ["\n".join([prelude, *(s.text for s in group)]) for group in groups]

    def load(text: str) -> ctypes.CDLL:
        return load_library("kernels", text, FLAGS, LIBRARIES)

    if len(texts) == 1:
        libraries = [load(texts[0])]
    else:
        with ThreadPoolExecutor(max(1, min(len(texts), os.cpu_count() or 1))) as pool:
            libraries = list(pool.map(load, texts))
    return {
        source.name: CppKernel(
            source, getattr(library, source.entry), str(library._name)
        )
        for group, library in zip(groups, libraries, strict=True)
        for source in group
    }


def _groups(sources: Sequence[Source]) -> list[list[Source]]:
    """Share kernels out over libraries of about equal length."""
    count = max(1, min(os.cpu_count() or 1, -(-len(sources) // _PER_LIBRARY)))
    groups: list[list[Source]] = [[] for _ in range(count)]
    lengths = [0] * count
    for source in sorted(sources, key=lambda s: -len(s.text)):
        least = lengths.index(min(lengths))
        groups[least].append(source)
        lengths[least] += len(source.text)
    return [group for group in groups if group]
