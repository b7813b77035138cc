"""From a schedule to a Python function that runs it.

The function is text, one line a step, that a person can read and a debugger can step
through. Whatever can be decided beforehand is: callables, types and constant arguments
are names in its namespace, shapes are literals.
"""

import keyword
import linecache
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch

from compiler import torch_api
from compiler.errors import CompileError
from compiler.ir.expression import Expression, leaves
from compiler.ir.index import constant_value, contiguous_strides, index, sub
from compiler.ir.kernel import Allocate, Free, Kernel, Schedule
from compiler.ir.node import Alias, Buffer, Extern, Reference

from . import extern
from .built import Built
from .cpp import raise_status
from .split import split_product

_SERIAL = count()


@dataclass(frozen=True)
class Wrapper:
    """A schedule as a function.

    Attributes:
        source: Its text.
        run: Takes a list of arguments, which it clears, and returns a tuple.
        launches: Number of kernels that a call launches.
        recipes: Name in the text -> how its value is found again: ``("kernel", name)``,
            ``("extern", operator)``, ``("runtime", name)``, or ``("value", value)``.
        origins: Line of the text -> the user's lines that it comes from.
        kernels: Name -> what runs it.
    """

    source: str
    run: Callable[[list[Any]], tuple[Any, ...]]
    launches: int
    recipes: Mapping[str, tuple[str, Any]]
    origins: Mapping[int, str]
    kernels: Mapping[str, Built]

    def explain(self, error: Exception) -> None:
        """Add to an error, raised by a call, where in the user's program it arose."""
        code: Any = getattr(self.run, "__code__", None)
        place = error.__traceback__
        while place is not None:
            if place.tb_frame.f_code is code:
                origin = self.origins.get(place.tb_lineno)
                if origin:
                    error.add_note(f"compiled from {origin}")
                return
            place = place.tb_next


def wrap(
    schedule: Schedule, kernels: Mapping[str, Built], *, name: str = "graph"
) -> Wrapper:
    """Return the function that runs a schedule.

    Args:
        schedule: Steps.
        kernels: Name -> what runs it, for each kernel of the schedule.
        name: Of the file that a traceback shows.

    Raises:
        CompileError: A size cannot be found from the arguments.

    Example:
        >>> from compiler.ir.index import index
        >>> x = Buffer("x", "float32", (index(2),), "cpu", (index(1),))
        >>> wrap(Schedule((x,), (), ("x", index(2))), {}).run([torch.ones(2)])
        (tensor([1., 1.]), 2)
    """
    writer = _Writer(schedule, kernels)
    source = writer.text()
    run = function_of(source, writer.names, name)
    return Wrapper(
        source, run, writer.launches, writer.recipes, writer.origins, kernels
    )


def rewrap(
    source: str,
    launches: int,
    recipes: Mapping[str, tuple[str, Any]],
    origins: Mapping[int, str],
    kernels: Mapping[str, Built],
    *,
    name: str = "graph",
) -> Wrapper:
    """Return a wrapper from its text and the recipes of its names.

    Args:
        source: As :class:`Wrapper` has it, as all that follows.
        launches: Number of kernels that a call launches.
        recipes: Name in the text -> how its value is found.
        origins: Line of the text -> the user's lines.
        kernels: Name -> what runs it.
        name: Of the file that a traceback shows.

    Raises:
        AttributeError: An operator is not registered any more.
    """
    names = {word: _found(recipe, kernels) for word, recipe in recipes.items()}
    run = function_of(source, names, name)
    return Wrapper(source, run, launches, recipes, origins, kernels)


def _found(recipe: tuple[str, Any], kernels: Mapping[str, Built]) -> Any:
    kind, value = recipe
    if kind == "runtime":
        return RUNTIME[value]
    if kind == "extern":
        return extern.quick(torch_api.overload_of(value))
    if kind == "kernel":
        built = kernels[value]
        entry = getattr(built, "entry", None)
        return built if entry is None else entry
    return value


def function_of(
    source: str, names: dict[str, Any], name: str
) -> Callable[[list[Any]], tuple[Any, ...]]:
    """Return the function ``run`` that a text defines.

    Args:
        source: As :class:`Wrapper` has it.
        names: What the text's names mean.
        name: Of the file that a traceback shows.
    """
    file = f"<tilewright {name} {next(_SERIAL)}>"
    code = compile(source, file, "exec")
    lines = source.splitlines(keepends=True)
    linecache.cache[file] = (len(source), None, lines, file)
    space = {"torch": torch, **names}
    exec(code, space)
    run: Callable[[list[Any]], tuple[Any, ...]] = space["run"]
    return run


class _Writer:
    """Writes the function's lines and gathers the names that it needs."""

    def __init__(self, schedule: Schedule, kernels: Mapping[str, Built]) -> None:
        self.schedule = schedule
        self.kernels = kernels
        self.names: dict[str, Any] = {"torch": torch}
        self.recipes: dict[str, tuple[str, Any]] = {}
        self.lines: list[str] = []
        self.origin = ""
        self.origins: dict[int, str] = {}
        self.launches = 0
        self.arrays: dict[str, Buffer] = {}
        self.taken: dict[str, str] = {}
        self.replaced: list[str] = []
        self.words: set[str] = set()
        self.devices: dict[str, torch.device] = {}
        self.constants = count()
        self.read = _read(schedule)

    def text(self) -> str:
        schedule = self.schedule
        self._arguments()
        for step in schedule.steps:
            self.origin = _origin(step)
            self._step(step)
        outputs = [self._output(output) for output in schedule.outputs]
        comma = "," if len(outputs) == 1 else ""
        self._line(f"return ({', '.join(outputs)}{comma})")
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"def run(args):\n{body}\n"

    def _line(self, text: str) -> None:
        self.lines.append(text)
        if self.origin:
            self.origins[len(self.lines) + 1] = self.origin

    # names

    def _name(self, name: str) -> str:
        """Return an identifier for an array or a size, the same for the same name."""
        if name not in self.taken:
            word = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
            if not word.isidentifier() or keyword.iskeyword(word):
                word = f"v_{word}"
            reserved = ("args", "status")
            while word in self.words or word in self.names or word in reserved:
                word += "_"
            self.taken[name] = word
            self.words.add(word)
        return self.taken[name]

    def _global(
        self, name: str, value: Any, recipe: tuple[str, Any] | None = None
    ) -> str:
        """Return a name by which the function finds a value."""
        word = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
        if not word.isidentifier() or keyword.iskeyword(word):
            word = f"v_{word}"
        while word in self.words or self.names.get(word, value) is not value:
            word += "_"
        self.names[word] = value
        self.recipes[word] = recipe or ("value", value)
        return word

    def _device(self, name: str) -> str:
        """Return the name of a device; all its uses share one value."""
        found = self.devices.setdefault(name, torch.device(name))
        return self._global(name.replace(":", "_"), found)

    def _runtime(self, name: str) -> str:
        """Return the name of one of :data:`RUNTIME`."""
        return self._global(name, RUNTIME[name], ("runtime", name))

    # arguments

    def _arguments(self) -> None:
        schedule = self.schedule
        known: set[Expression] = set()
        targets = []
        for position, value in enumerate(schedule.inputs):
            if isinstance(value, Buffer):
                targets.append(self._name(value.name))
                self.arrays[value.name] = value
            elif value.op == "symbol":
                targets.append(self._name(str(value.data)))
                known.add(value)
            else:
                targets.append(f"size_{position}")
        if targets:
            self._line(f"{', '.join(targets)}, = args")
            self._line("args.clear()")
        for symbol in sorted(self._symbols() - known, key=repr):
            self._line(f"{self._name(str(symbol.data))} = {self._found(symbol)}")

    def _symbols(self) -> set[Expression]:
        roots: list[Expression] = []
        for step in self.schedule.steps:
            if isinstance(step, Kernel):
                built = self.kernels[step.name]
                roots.extend(built.symbols)
            elif isinstance(step, (Allocate, Alias)):
                roots.extend(_sizes(step.buffer))
            elif isinstance(step, Extern):
                roots.extend(_expressions((step.args, step.kwargs)))
                for buffer in step.outputs:
                    if buffer is not None:
                        roots.extend(_sizes(buffer))
        roots.extend(o for o in self.schedule.outputs if isinstance(o, Expression))
        return set(leaves("symbol", *roots))

    def _found(self, symbol: Expression) -> str:
        """Return how a size follows from the arguments."""
        for position, value in enumerate(self.schedule.inputs):
            if isinstance(value, Expression):
                if (factor := _factor(value, symbol)) is not None:
                    return f"size_{position} // {factor}"
                continue
            for method, extents in (("size", value.shape), ("stride", value.strides)):
                for dim, extent in enumerate(extents or ()):
                    factor = _factor(extent, symbol)
                    if factor is not None:
                        call = f"{self._name(value.name)}.{method}({dim})"
                        return call if factor == 1 else f"{call} // {factor}"
        raise CompileError(
            f"the size {symbol} had to follow from an argument's shape, and does not",
            size=repr(symbol),
        )

    # steps

    def _step(self, step: Any) -> None:
        if isinstance(step, (Kernel, Extern)):
            write: Any = self._kernel if isinstance(step, Kernel) else self._extern
            write(step)
            # a kernel in place reads the array whose memory it writes by its old name;
            # with that name left, the memory would stay until the function returns
            for name in self.replaced:
                self._line(f"del {self._name(name)}")
            self.replaced.clear()
        elif isinstance(step, Alias):
            self._alias(step)
        elif isinstance(step, Allocate):
            self._allocate(step)
        elif isinstance(step, Free):
            self._line(f"del {self._name(step.name)}")
        else:
            raise AssertionError(step)

    def _kernel(self, kernel: Kernel) -> None:
        built = self.kernels[kernel.name]
        arrays = [self._name(name) for name in built.parameters]
        sizes = [self.size(size) for size in built.symbols]
        self.launches += 1
        entry = getattr(built, "entry", None)
        if entry is None:
            call = self._global(kernel.name, built, ("kernel", kernel.name))
            self._line(f"{call}({', '.join([*arrays, *sizes])})")
            return
        # a C function of addresses: it is called without a function of Python between
        call = self._global(kernel.name, entry, ("kernel", kernel.name))
        fail = self._runtime("raise_status")
        addresses = [f"{name}.data_ptr()" for name in arrays]
        text = f"{call}({', '.join([*addresses, *sizes])})"
        self._line(f"if status := {text}: {fail}(status)")

    def _allocate(self, step: Allocate) -> None:
        buffer = step.buffer
        assert buffer.strides is not None, buffer
        shape, strides = self._tuple(buffer.shape), self._tuple(buffer.strides)
        name = self._name(buffer.name)
        self.arrays[buffer.name] = buffer
        if step.reuse is not None:
            old, dead = self._name(step.reuse), self.arrays[step.reuse]
            self.replaced.append(step.reuse)
            kind = self._dtype(buffer.dtype)
            if same_place(buffer, dead):
                self._line(f"{name} = {old}")
                return
            take = self._runtime("in_the_memory_of")
            self._line(f"{name} = {take}({old}, {shape}, {strides}, {kind})")
            return
        self._line(f"{name} = {self._empty(buffer, shape, strides)}")

    def _empty(self, buffer: Buffer, shape: str, strides: str) -> str:
        kind = self._dtype(buffer.dtype)
        if buffer.device == "cpu":
            make = self._runtime("empty_strided_cpu")
            return f"{make}({shape}, {strides}, {kind})"
        device = self._device(buffer.device)
        make = self._runtime("empty_strided")
        return f"{make}({shape}, {strides}, dtype={kind}, device={device})"

    def _alias(self, step: Alias) -> None:
        buffer, base = step.buffer, self.arrays[step.base]
        assert buffer.strides is not None, buffer
        self.arrays[buffer.name] = buffer
        more = self.size(sub(_offset(buffer), _offset(base)))
        shown = self._name(step.base)
        if buffer.dtype != base.dtype:
            shown += f".view({self._dtype(buffer.dtype)})"
        view = self._runtime("reinterpret_tensor")
        shape, strides = self._tuple(buffer.shape), self._tuple(buffer.strides)
        name = self._name(buffer.name)
        self._line(f"{name} = {view}({shown}, {shape}, {strides}, {more})")

    def _extern(self, step: Extern) -> None:
        target = step.target
        recipe = None
        if torch_api.is_overload(target):
            recipe = ("extern", torch_api.overload_name(target))
        call = self._global(_target_name(target), extern.quick(target), recipe)
        arguments = [self.argument(value) for value in step.args]
        arguments += [f"{k}={self.argument(v)}" for k, v in step.kwargs.items()]
        parts = self._parts(step)
        made = step.outputs[0] if parts else _with_gaps(step)
        if made is not None:
            shape, strides = map(self._tuple, (made.shape, made.strides or ()))
            name = self._name(made.name)
            write = self._runtime("split_product" if parts else "into")
            self._line(f"{name} = {self._empty(made, shape, strides)}")
            self._line(f"{write}({', '.join([call, name, *parts, *arguments])})")
            self.arrays[made.name] = made
            return
        text = f"{call}({', '.join(arguments)})"
        names = ["_" if b is None else self._name(b.name) for b in step.outputs]
        alone = torch_api.returns_one_tensor(step.target)
        if not names or all(name == "_" for name in names):
            self._line(text)
        elif alone:
            self._line(f"{names[0]} = {text}")
        else:
            if alone is None:
                several = self._runtime("several")
                text = f"{several}({text})"
            comma = "," if len(names) == 1 else ""
            self._line(f"{', '.join(names)}{comma} = {text}")
        for buffer in step.outputs:
            if buffer is not None:
                self.arrays[buffer.name] = buffer
                self._settle(step, buffer)

    def _parts(self, step: Extern) -> list[str]:
        """Return the largest part of a product that runs in parts, as an argument."""
        made = step.outputs[0] if step.outputs else None
        parts = None if made is None else self.schedule.parts.get(made.name)
        return [] if parts is None else [str(parts)]

    def _settle(self, step: Extern, buffer: Buffer) -> None:
        if buffer.strides is None or step.target in extern.DENSE:
            return
        if step.aliases.get(buffer.name) or step.mutates:
            return
        if buffer.name not in self.read:
            return
        settle = self._runtime("settled")
        name = self._name(buffer.name)
        shape, strides = self._tuple(buffer.shape), self._tuple(buffer.strides)
        self._line(f"{name} = {settle}({name}, {shape}, {strides})")

    # values

    def _output(self, output: str | Expression | None) -> str:
        if output is None:
            return "None"
        if isinstance(output, Expression):
            return self.size(output)
        return self._name(output)

    def _dtype(self, dtype: str) -> str:
        return self._global(dtype, getattr(torch, dtype))

    def _tuple(self, sizes: Iterable[Expression]) -> str:
        parts = [self.size(size) for size in sizes]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"

    def size(self, value: Expression | int) -> str:
        """Return an index expression as Python, floor semantics and all."""
        known = constant_value(value)
        if known is not None:
            return str(known)
        assert isinstance(value, Expression)
        if value.op == "symbol":
            return self._name(str(value.data))
        parts = [self.size(arg) for arg in value.args]
        if value.op in ("minimum", "maximum"):
            return f"{value.op[:3]}({', '.join(parts)})"
        sign = {"add": " + ", "mul": " * ", "floordiv": " // ", "mod": " % "}[value.op]
        return f"({sign.join(parts)})"

    def argument(self, value: Any) -> str:
        """Return an argument of an extern call as Python."""
        if isinstance(value, Reference):
            return self._name(value.name)
        if isinstance(value, Expression):
            return self.size(value)
        if value is None or isinstance(value, (bool, int, str)):
            return repr(value)
        if isinstance(value, float) and math.isfinite(value):
            return repr(value)
        if isinstance(value, (tuple, list)):
            inner = ", ".join(map(self.argument, value))
            comma = "," if len(value) == 1 else ""
            return f"[{inner}]" if isinstance(value, list) else f"({inner}{comma})"
        if isinstance(value, dict):
            inner = ", ".join(f"{k!r}: {self.argument(v)}" for k, v in value.items())
            return f"{{{inner}}}"
        if isinstance(value, torch.dtype):
            return str(value)
        return self._global(f"constant_{next(self.constants)}", value)


def _in_the_memory_of(
    old: torch.Tensor,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: torch.dtype,
) -> torch.Tensor:
    """Return an array in the storage of a dead one, from its beginning on."""
    if old.dtype == dtype and old.storage_offset() == 0:
        return torch_api.reinterpret_tensor(old, shape, strides, 0)
    fresh = torch.empty((0,), dtype=dtype, device=old.device)
    return fresh.set_(old.untyped_storage(), 0, shape, strides)


RUNTIME: dict[str, Callable[..., Any]] = {
    "empty_strided": torch.empty_strided,
    "empty_strided_cpu": torch_api.empty_strided_cpu,
    "into": extern.into,
    "in_the_memory_of": _in_the_memory_of,
    "raise_status": raise_status,
    "reinterpret_tensor": torch_api.reinterpret_tensor,
    "settled": extern.settled,
    "several": extern.several,
    "split_product": split_product,
}
"""Functions of the runtime that a wrapper's text may call."""


def same_place(fresh: Buffer, dead: Buffer) -> bool:
    """Return whether an array is the one whose memory it takes but for its name."""
    return (
        fresh.dtype == dead.dtype
        and fresh.shape == dead.shape
        and fresh.strides == dead.strides
        and _offset(dead) is index(0)
    )


def _factor(extent: Expression, symbol: Expression) -> int | None:
    """Return c where the extent is ``symbol * c``, c a positive constant."""
    if extent is symbol:
        return 1
    if extent.op == "mul" and len(extent.args) == 2 and extent.args[0] is symbol:
        factor = constant_value(extent.args[1])
        return factor if factor is not None and factor > 0 else None
    return None


def _origin(step: Any) -> str:
    """Return the user's lines that a step comes from."""
    if isinstance(step, Kernel):
        return ", ".join(dict.fromkeys(filter(None, step.origins)))
    return step.origin if isinstance(step, Extern) else ""


def _with_gaps(step: Extern) -> Buffer | None:
    """Return the result of a product that is to have other strides than it would."""
    if step.target not in extern.DENSE:
        return None
    (made,) = step.outputs
    if made is None or made.strides is None:
        return None
    dims = zip(made.shape, made.strides, contiguous_strides(made.shape), strict=True)
    if all(constant_value(e) == 1 or mine is plain for e, mine, plain in dims):
        return None
    return made


def _read(schedule: Schedule) -> set[str]:
    """Return the names of arrays that a step or the caller reads."""
    names = {output for output in schedule.outputs if isinstance(output, str)}
    for step in schedule.steps:
        if isinstance(step, Kernel):
            names.update(step.buffers)
        elif isinstance(step, Extern):
            names.update(_references((step.args, step.kwargs)))
        elif isinstance(step, Alias):
            names.add(step.base)
        elif isinstance(step, Allocate) and step.reuse is not None:
            names.add(step.reuse)
    return names


def _references(value: Any) -> list[str]:
    if isinstance(value, Reference):
        return [value.name]
    if isinstance(value, Expression):
        return []
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [name for part in value for name in _references(part)]
    return []


def _offset(buffer: Buffer) -> Expression:
    return index(0) if buffer.offset is None else buffer.offset


def _sizes(buffer: Buffer) -> list[Expression]:
    return [*buffer.shape, *(buffer.strides or ()), _offset(buffer)]


def _expressions(value: Any) -> list[Expression]:
    if isinstance(value, Expression):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [found for part in value for found in _expressions(part)]
    return []


def _target_name(target: Any) -> str:
    if torch_api.is_overload(target):
        return torch_api.overload_name(target).replace(".default", "")
    return str(getattr(target, "__name__", type(target).__name__))
