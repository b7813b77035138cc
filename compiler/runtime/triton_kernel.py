"""Printed Triton kernels as callables: on the GPU, or in Triton's interpreter.

The launcher does per call what must be done per call: read the addresses, look whether
they are aligned as compiled for, pick up the current stream, and call Triton's C
launcher. All else is decided once.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import torch

from compiler.errors import BuildError, FallbackWarning
from compiler.ir.expression import Expression
from compiler.ir.index import constant_value
from compiler.ir.points import size

from .cache import cached_file, content_key

if TYPE_CHECKING:
    from compiler.codegen.triton.printer import Printed

ALIGNMENT: Final = 16
"""Alignment that a kernel is compiled for where its arguments have it [bytes]."""

_MAX_PROGRAMS: Final = (1 << 31) - 1
_COMPILED: Final[dict[tuple[Any, ...], Any]] = {}
_TEXTS: Final[dict[tuple[Any, ...], str]] = {}
_LAUNCHERS: Final[dict[tuple[Any, ...], Callable[..., None]]] = {}


def source_file(name: str, source: str) -> Path:
    """Return the file with a module's text.

    It lies in the cache, where a debugger, a profiler and Triton find it.
    """
    return cached_file(
        f"{content_key(source)}-{name}.py", lambda path: _write(path, source)
    )


@cache
def load_function(name: str, source: str) -> Any:
    """Return a ``@triton.jit`` function of a module's text."""
    from .triton_worker import load_module

    return load_module(str(source_file(name, source)), name)


def _write(path: Path, source: str) -> None:
    path.write_text(source)


def _moved(tensors: Sequence[Any], host: tuple[int, ...]) -> list[Any]:
    """Return the tensors with those on the CPU copied to the others' device."""
    device = next(t.device for i, t in enumerate(tensors) if i not in host)
    return [
        tensor.to(device, non_blocking=True) if i in host else tensor
        for i, tensor in enumerate(tensors)
    ]


class TritonKernel:
    """A printed kernel that can be called; implements ``Built``.

    It is compiled at its first call for the device of its tensors, or beforehand by
    ``prepare``.

    Attributes:
        printed: Its text.
        interpret: Whether it runs in Triton's interpreter.
        instead: What a call runs where Triton refuses the kernel for its arguments,
            with a warning; None: the error is raised.
        unaligned: What a call runs where an address is no multiple of 16 bytes; None:
            the kernel itself, compiled for that.
    """

    def __init__(self, printed: "Printed", *, interpret: bool = False) -> None:
        self.printed = printed
        self.interpret = interpret
        self._programs = constant_value(printed.grid)
        self.instead: Callable[..., None] | None = None
        self.unaligned: TritonKernel | None = None
        self._launches: dict[tuple[int, bool], Callable[..., None]] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        state = {"interpret": self.interpret, "unaligned": self.unaligned}
        return TritonKernel, (self.printed,), state

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of buffers, in the order of the call."""
        return self.printed.parameters

    @property
    def symbols(self) -> tuple[Expression, ...]:
        """Sizes, in the order of the call."""
        return self.printed.symbols

    @property
    def source(self) -> str:
        """Text that it was compiled from, and what its arguments are."""
        return self.printed.comments + self.printed.source

    @property
    def function(self) -> Any:
        """The ``@triton.jit`` function; equal kernels share it."""
        return load_function(self.printed.name, self.printed.source)

    @property
    def key(self) -> tuple[Any, ...]:
        """What equal kernels have in common."""
        printed = self.printed
        types = printed.types, len(printed.symbols)
        return (printed.source, types, printed.num_warps, printed.num_stages)

    @property
    def arity(self) -> int:
        """Number of arguments: pointers and sizes."""
        return len(self.printed.parameters) + len(self.printed.symbols)

    def __call__(self, *arguments: Any) -> None:
        """Run the kernel on the current stream.

        Raises:
            BuildError: Triton refuses the kernel, or it has too many programs.
        """
        programs = self._programs
        if programs is None:
            programs = self._count(arguments)
        if programs == 0:
            return
        count = len(self.printed.parameters)
        if self.interpret:
            if self.unaligned is not None and any(
                tensor.data_ptr() % ALIGNMENT for tensor in arguments[:count]
            ):
                self.unaligned(*arguments)
            else:
                self._interpret(programs, arguments)
            return
        tensors: Sequence[Any] = arguments[:count]
        if self.printed.host:
            tensors = _moved(tensors, self.printed.host)
        addresses = [tensor.data_ptr() for tensor in tensors]
        mixed = 0
        for address in addresses:
            mixed |= address
        aligned = mixed % ALIGNMENT == 0
        if not aligned and self.unaligned is not None:
            self.unaligned(*arguments)
            return
        device = tensors[0].get_device()
        launch = self._launches.get((device, aligned))
        if launch is None:
            try:
                launch = self._compiled(device, aligned)
            except BuildError as error:
                if self.instead is None:
                    raise
                self._refused(error)
                self.instead(*arguments)
                return
        launch(programs, addresses, arguments[count:])

    def _refused(self, error: BuildError) -> None:
        """Say that the kernel runs by PyTorch's operators."""
        warnings.warn(
            f"a call of kernel {self.printed.name} runs by PyTorch's own operators, "
            f"slower, because it could not be built: {error}",
            FallbackWarning,
            stacklevel=3,
        )

    def _count(self, arguments: Sequence[Any]) -> int:
        sizes = arguments[len(self.printed.parameters) :]
        names = [str(symbol.data) for symbol in self.printed.symbols]
        return size(self.printed.grid, dict(zip(names, sizes, strict=True)))

    def _interpret(self, programs: int, arguments: Sequence[Any]) -> None:
        from compiler.triton_api import faithful_interpreter

        try:
            with faithful_interpreter():
                self._interpreted[(programs,)](*arguments)
        except Exception as error:
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, IndexError):
                cause = cause.__cause__
            if cause is None:
                raise
            raise cause from error

    @cached_property
    def _interpreted(self) -> Any:
        from compiler.triton_api import interpreted

        return interpreted(self.function)

    def _compiled(self, device: int, aligned: bool) -> Callable[..., None]:
        from compiler.triton_api import launcher

        if self._programs is not None and self._programs > _MAX_PROGRAMS:
            raise BuildError(
                f"{self.printed.name} has {self._programs} programs, a grid at most "
                f"{_MAX_PROGRAMS}; run it by PyTorch",
                command="triton",
                output="refused",
            )
        with self._lock, torch.cuda.device(device):
            major, minor = torch.cuda.get_device_capability(device)
            compiled = self.compile(aligned, arch=10 * major + minor)
            shared = (*self.key, aligned, device)
            try:
                launch = _LAUNCHERS.get(shared) or launcher(compiled, device)
            except Exception as error:
                raise self._refusal("load", error) from error
            _LAUNCHERS[shared] = launch
            self._launches[device, aligned] = launch
        return launch

    def arguments(self, aligned: bool, arch: int | None) -> dict[str, Any]:
        """Return the arguments of ``compile_printed`` after the function."""
        printed = self.printed
        names = printed.arguments
        types = [*printed.types, *("i64" for _ in printed.symbols)]
        return {
            "signature": dict(zip(names, types, strict=True)),
            "aligned": list(names[: len(printed.types)]) if aligned else [],
            "num_warps": printed.num_warps,
            "num_stages": printed.num_stages,
            "checks": printed.asserts,
            "arch": arch,
            "gluon": printed.gluon,
        }

    def job(self, arch: int) -> dict[str, Any]:
        """Return what a process of the pool needs to compile it."""
        return {
            "path": str(source_file(self.printed.name, self.printed.source)),
            "name": self.printed.name,
            "arguments": self.arguments(True, arch),
        }

    def ttir(self) -> str:
        """Return the text of Triton's first level, for which no GPU is needed.

        Raises:
            BuildError: Triton refuses the source.
        """
        from compiler.triton_api import ttir_text

        if self.key in _TEXTS:
            return _TEXTS[self.key]
        given = self.arguments(True, None)
        divisible = dict.fromkeys(given["aligned"], ALIGNMENT)
        try:
            _TEXTS[self.key] = ttir_text(
                self.function,
                given["signature"],
                {},
                divisible=divisible,
                checks=given["checks"],
            )
            return _TEXTS[self.key]
        except Exception as error:
            raise self._refusal("read", error) from error

    def compile(self, aligned: bool = True, *, arch: int | None = None) -> Any:
        """Return Triton's compiled kernel, from Triton's cache where it is there.

        Args:
            aligned: Whether all addresses are multiples of 16 bytes.
            arch: Compute capability times ten; None: of the current device.

        Raises:
            BuildError: Triton refuses it; has the source as ``output``.
        """
        from compiler.triton_api import compile_printed

        key = (*self.key, aligned, arch)
        if key in _COMPILED:
            return _COMPILED[key]
        try:
            compiled = compile_printed(self.function, **self.arguments(aligned, arch))
            _COMPILED[key] = compiled
            return compiled
        except Exception as error:
            raise self._refusal("compile", error) from error

    def _refusal(self, verb: str, error: Exception) -> BuildError:
        name = self.printed.name
        last = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        return BuildError(
            f"Triton had to {verb} {name} and refused: {last}; run it by PyTorch, and "
            "keep the source for a report",
            command=f"triton {name}",
            output=self.printed.source,
        )
