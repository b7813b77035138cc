"""Kernels as readable Triton source."""

import inspect
import re
from dataclasses import dataclass
from typing import Final

from compiler.errors import BuildError
from compiler.ir.expression import Expression, leaves, loads
from compiler.ir.index import constant_value
from compiler.ir.kernel import Kernel, Prefix, Reduction, Stage, Store
from compiler.ir.operations import type_class

from . import library
from .emitter import Emitter
from .flat import expressions
from .folding import print_folded
from .parts import print_parts
from .plan import plan
from .product import print_product
from .reducing import (
    Loop,
    accumulate,
    accumulators,
    carries,
    check_stage,
    finish,
    persistent,
    scan_tile,
)
from .spelling import POINTERS, TYPES, WIDTHS, identifier
from .tile import Plan, tiles_apart

_ATOMICS: Final = {"add": "add", "maximum": "max", "minimum": "min"}
_ATOMIC_TYPES: Final = {
    "add": ("float16", "bfloat16", "float32", "float64", "int32", "int64"),
    "maximum": ("int32", "int64"),
    "minimum": ("int32", "int64"),
}
_COMBINED: Final = {"add": "+", "multiply": "*"}
_LONG_ROW: Final = 4096
"""Elements of a tile from which on loads give way last in the cache: on an H200 the
lines that are written then leave it first, and long rows stream faster."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A kernel's source and what a launch needs.

    Attributes:
        name: Of the function.
        source: A Python module with one ``@triton.jit`` kernel and what it calls;
            equal kernels have equal sources.
        comments: What else a reader wants to know, as lines of Python.
        arguments: Names of the function's arguments.
        parameters: Buffers in the order of the arguments.
        symbols: Sizes that follow them.
        types: Pointer types of the buffers, in Triton's spelling.
        host: Numbers of the buffers that lie on the CPU while others are on a GPU: a
            launch copies them (numbers that a user keeps in tensors, as a rule).
        grid: Number of programs, an index over symbols.
        num_warps: Warps of a program.
        num_stages: Depth of the software pipeline.
        asserts: Whether it checks indices.
        gluon: Whether it is a ``@gluon.jit`` kernel, which says its layouts, instead.
    """

    name: str
    source: str
    comments: str
    arguments: tuple[str, ...]
    parameters: tuple[str, ...]
    symbols: tuple[Expression, ...]
    types: tuple[str, ...]
    host: tuple[int, ...]
    grid: Expression
    num_warps: int
    num_stages: int
    asserts: bool
    gluon: bool = False


def print_kernel(
    kernel: Kernel,
    chosen: Plan | None = None,
    *,
    fast: bool = True,
    deterministic: bool = False,
) -> Printed:
    """Print a kernel.

    Args:
        kernel: What the scheduler made.
        chosen: Its plan; None: the one that :func:`plan` returns.
        fast: Let exponentials and sigmoids be off by some last bits of float32 where
            the result is rounded to a half type.
        deterministic: Refuse atomic sums of floats.

    Raises:
        BuildError: it needs something that Triton lacks (an atomic product, say).
    """
    chosen = tiles_apart(plan(kernel) if chosen is None else chosen)
    emitter = Emitter(chosen, fast=fast)
    emitter.deterministic = deterministic
    if chosen.factors is not None:
        for store in print_product(emitter):
            _store(emitter, store)
        return _module(emitter, kernel)
    emitter.header()
    if chosen.reduced is None:
        stores = [s for s in chosen.kernel.stages if isinstance(s, Store)]
        if chosen.parts:
            print_parts(emitter, chosen.parts, _store)
            return _module(emitter, kernel)
        if all(constant_value(axis.extent) == 1 for axis in chosen.kernel.outer):
            _values_first(emitter, stores)
        for stage in stores:
            _store(emitter, stage)
    elif chosen.folded is not None:
        print_folded(emitter, _store)
    elif chosen.persistent:
        _print_persistent(emitter)
    else:
        _print_looped(emitter)
    return _module(emitter, kernel)


def _values_first(emitter: Emitter, stores: list[Store]) -> None:
    """Compute what a kernel of one point stores before it stores anything.

    A load after a store waits for what is stored, which waits for a load: a hundred
    numbers changed in turn take a hundred times the latency of memory.
    """
    changed: set[str] = set()
    for stage in stores:
        values = (stage.value, stage.target[0])
        if stage.condition is None and not changed & {
            str(load.data) for load in loads(*values)
        }:
            emitter.value(stage.value)
        changed.add(stage.buffer)


def _print_persistent(emitter: Emitter) -> None:
    reduced = emitter.plan.reduced
    if reduced is not None and reduced.block >= _LONG_ROW:
        emitter.eviction = ', eviction_policy="evict_last"'
    for stage in emitter.plan.kernel.stages:
        if isinstance(stage, Reduction):
            check_stage(stage)
            persistent(emitter, stage)
        elif isinstance(stage, Prefix):
            scan_tile(emitter, stage, None)
        else:
            _store(emitter, stage)


def _store(emitter: Emitter, stage: Store) -> None:
    """Print a store: over the whole tile, or over its outer dims."""
    plan = emitter.plan
    buffer = plan.kernel.buffers[stage.buffer]
    dims = emitter.all_dims
    if plan.reduced is not None and not stage.inner:
        dims = dims - {plan.reduced.name}
    if plan.folded is not None and stage.folded:
        dims = dims - {plan.folded.name}
    target = stage.target[0]
    guards: tuple[Expression, ...] = ()
    if stage.condition is not None:
        guards = (stage.condition,)
    value = emitter.value(stage.value, guards)
    place = emitter.value(target, guards)
    if stage.value.op == "constant":
        value = f"tl.full((), {value}, {TYPES[stage.value.dtype]})"
    mask = emitter.mask(dims, guards)
    pointer = emitter.pointer(stage.buffer)
    where = (
        f"{pointer} + {place}"
        if re.fullmatch(r"[\w.]+", place)
        else (f"{pointer} + ({place})")
    )
    if emitter.dims(target) != dims:
        where = f"{pointer} + tl.broadcast_to({place}, {emitter.shape(dims)})"
        if emitter.dims(target) == frozenset():
            where = f"{pointer} + tl.full({emitter.shape(dims)}, {place}, tl.int64)"
    rest = f", mask={mask}" if mask else ""
    if stage.mode == "set":
        emitter.line(f"tl.store({where}, {value}{rest})")
        if stage.condition is None and stage.injective:
            emitter.stored(stage.buffer, target, value)
    elif stage.injective:
        _update(emitter, stage, where, value, rest)
    else:
        _atomic(emitter, stage, where, value, rest, buffer.dtype)


def _update(emitter: Emitter, stage: Store, where: str, value: str, rest: str) -> None:
    """Print a read-modify-write of points that never meet."""
    old = emitter.name(f"{emitter.pointer(stage.buffer)}_old")
    other = ", other=0" if rest else ""
    emitter.line(f"{old} = tl.load({where}{rest}{other})")
    dtype = stage.value.dtype
    half = dtype in ("float16", "bfloat16")
    left = f"{old}.to(tl.float32)" if half else old
    right = f"{value}.to(tl.float32)" if half else value
    if stage.mode in _COMBINED:
        sign = _COMBINED[stage.mode]
        if dtype == "bool":
            sign = "|" if stage.mode == "add" else "&"
        text = f"{left} {sign} {right}"
    else:
        nan = ", propagate_nan=tl.PropagateNan.ALL" if dtype.startswith("fl") else ""
        text = f"tl.{stage.mode}({left}, {right}{nan})"
    if half:
        text = f"({text}).to({TYPES[dtype]})"
    emitter.line(f"tl.store({where}, {text}{rest})")


def _atomic(
    emitter: Emitter, stage: Store, where: str, value: str, rest: str, dtype: str
) -> None:
    if dtype not in _ATOMIC_TYPES.get(stage.mode, ()):
        raise BuildError(
            f"a scatter with mode={stage.mode!r} on {dtype} needs an atomic that "
            f"Triton has not; {emitter.plan.kernel.name} must run by PyTorch",
            command="triton",
            output="refused",
        )
    if emitter.deterministic and type_class(dtype) == "float":
        raise BuildError(
            f"atomic sums of {dtype} depend on the order of programs; "
            f"{emitter.plan.kernel.name} must run by PyTorch to be deterministic",
            command="triton",
            output="refused",
        )
    name = _ATOMICS[stage.mode]
    emitter.line(f'tl.atomic_{name}({where}, {value}{rest}, sem="relaxed")')


@dataclass
class _Pass:
    """One loop over the reduced axis: what runs in it."""

    stages: list[Stage]


def _passes(emitter: Emitter) -> list[_Pass | Stage]:
    """Return the loops, and the stages between them that run once a point.

    A stage runs in the first loop after those that make the results it reads; a scan
    that is read in a later loop runs there again.
    """
    made: dict[str, int] = {}
    scans: dict[str, Prefix] = {}
    loops: dict[int, list[Stage]] = {}
    once: dict[int, list[Stage]] = {}
    last_write = 0
    for stage in emitter.plan.kernel.stages:
        names = [str(x.data) for x in leaves("local", *expressions(stage))]
        needed: dict[str, Prefix] = {}
        for name in names:
            if name in scans:
                needed[name] = scans[name]
        level = max((made[name] for name in names if name in made), default=0)
        if isinstance(stage, Store):
            level = max(level, last_write)
            last_write = level
        outside = isinstance(stage, Store) and not stage.inner
        for scan in dict.fromkeys(needed.values()):
            level = max(level, made[scan.results[0]])
        if outside:
            once.setdefault(level, []).append(stage)
            continue
        group = loops.setdefault(level, [])
        for scan in dict.fromkeys(needed.values()):
            if scan not in group:
                group.append(scan)
        group.append(stage)
        if isinstance(stage, Prefix):
            scans.update(dict.fromkeys(stage.results, stage))
            made.update(dict.fromkeys(stage.results, level))
        elif isinstance(stage, Reduction):
            made.update(dict.fromkeys(stage.results, level + 1))
    found: list[_Pass | Stage] = []
    for level in range(max((*loops, *once), default=-1) + 1):
        found += once.get(level, [])
        if level in loops:
            found.append(_Pass(loops[level]))
    return found


def _print_looped(emitter: Emitter) -> None:
    steps = _passes(emitter)
    loops = [step for step in steps if isinstance(step, _Pass)]
    for step in steps:
        if isinstance(step, _Pass):
            last = step is loops[-1]
            if len(loops) > 1:
                policy = "evict_first" if last else "evict_last"
                emitter.eviction = f', eviction_policy="{policy}"'
            _print_pass(emitter, step)
            emitter.eviction = ""
        else:
            assert isinstance(step, Store)
            _store(emitter, step)


def _print_pass(emitter: Emitter, step: _Pass) -> None:
    sums: list[tuple[Reduction, Loop]] = []
    carried: dict[int, list[str]] = {}
    for stage in step.stages:
        if isinstance(stage, Reduction):
            check_stage(stage)
            loop = accumulators(emitter, stage)
            sums.append((stage, loop))
            for name, start in zip(loop.names, loop.starts, strict=True):
                emitter.line(f"{name} = {start}")
        elif isinstance(stage, Prefix):
            names, starts = carries(emitter, stage)
            carried[id(stage)] = names
            for name, start in zip(names, starts, strict=True):
                emitter.line(f"{name} = {start}")
            for result, dtype in zip(stage.results, stage.dtypes, strict=True):
                emitter.bind(result, dtype, "", emitter.all_dims)
    emitter.hoist([part for stage in step.stages for part in expressions(stage)])
    emitter.loop()
    for stage in step.stages:
        if isinstance(stage, Reduction):
            accumulate(emitter, stage, next(x for s, x in sums if s is stage))
        elif isinstance(stage, Prefix):
            scan_tile(emitter, stage, carried[id(stage)])
        else:
            _store(emitter, stage)
    emitter.close()
    for stage, loop in sums:
        finish(emitter, stage, loop)


def _module(emitter: Emitter, kernel: Kernel) -> Printed:
    for size in leaves("symbol", emitter.plan.grid):
        emitter.symbol(size)  # the launch needs it, even if no line does
    # the number at the end tells equal kernels of a graph apart
    # what the kernel calls keeps its name
    function = identifier(re.sub(r"(_\d+)+$", "", kernel.name), set(vars(library)))
    parameters = tuple(emitter.pointers)
    symbols = tuple(emitter.symbols)
    names = [*emitter.pointers.values(), *emitter.symbols.values()]
    imports = ["import triton", "import triton.language as tl"]
    body = "\n".join(emitter.lines)
    called = helpers(list(emitter.functions))
    if "libdevice." in body + "".join(called):
        imports.append("from triton.language.extra import libdevice")
    text = "\n".join(
        [
            *imports,
            "",
            *(f"\n{helper}" for helper in called),
            "",
            "@triton.jit",
            f"def {function}({', '.join(names)}):",
            body,
            "",
        ]
    )
    plan = emitter.plan
    return Printed(
        name=function,
        source=text,
        comments=_comments(kernel, emitter),
        arguments=tuple(names),
        parameters=parameters,
        symbols=symbols,
        types=tuple(POINTERS[kernel.buffers[name].dtype] for name in parameters),
        host=_on_host(kernel, parameters),
        grid=plan.grid,
        num_warps=plan.num_warps,
        num_stages=plan.num_stages,
        asserts=emitter.asserts,
    )


def _on_host(kernel: Kernel, parameters: tuple[str, ...]) -> tuple[int, ...]:
    """Return which buffers are on the CPU in a kernel that runs elsewhere."""
    devices = [kernel.buffers[name].device for name in parameters]
    if len(set(devices)) < 2:
        return ()
    stored = {s.buffer for s in kernel.stages if isinstance(s, Store)}
    host = tuple(i for i, device in enumerate(devices) if device == "cpu")
    gpus = {device for device in devices if device != "cpu"}
    if len(gpus) > 1 or any(parameters[i] in stored for i in host):
        raise BuildError(
            f"{kernel.name} has arrays on {', '.join(sorted(set(devices)))}; only what "
            "it reads may lie on the CPU; run it by PyTorch",
            command="triton",
            output="refused",
        )
    return host


def _comments(kernel: Kernel, emitter: Emitter) -> str:
    """Return which arrays the arguments are, and whence and why the kernel is."""
    lines = [f"{kernel.name}:"]
    lines += [f"  {text} is {name}" for name, text in emitter.pointers.items()]
    lines += [f"  {text} is {name.data}" for name, text in emitter.symbols.items()]
    lines += [f"  from {origin}" for origin in kernel.origins if origin]
    lines += [f"  {reason}" for reason in kernel.reasons]
    return "".join(f"# {line}\n" for line in lines)


def helpers(names: list[str]) -> list[str]:
    """Return the sources of library functions and of those that they call."""
    found: dict[str, str] = {}
    while names:
        name = names.pop()
        if name not in found:
            found[name] = inspect.getsource(getattr(library, name).fn)
            names += [
                word
                for word in re.findall(r"\b(\w+)\(", found[name])
                if hasattr(getattr(library, word, None), "fn") and word != name
            ]
    return [found[name] for name in sorted(found)]


def bytes_moved(kernel: Kernel) -> int | None:
    """Return the least bytes that a kernel moves: each buffer once; None: unknown."""
    total = 0
    for buffer in kernel.buffers.values():
        count = WIDTHS[buffer.dtype] // 8
        for extent in buffer.shape:
            if extent.op != "constant":
                return None
            count *= int(str(extent.data))
        total += count
    return total
