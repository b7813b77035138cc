"""Run a refutation's launch in Triton's own interpreter, in memory that is not there.

The programs that a counterexample names are run from the kernel's Python source, by
Triton's interpreter; each access is noted, loads give what the counterexample says that
the buffers hold. This shares nothing with ``verify.ttir``: neither the TTIR text nor
its semantics. Not a benchmark by itself: ``ttir_liger.py`` and ``ttir_flaggems.py``
use it for each refutation that they find.
"""

import ast
import multiprocessing
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.runtime import interpreter as triton_interpreter

from compiler.triton_api import _InterpretedMath, faithful_interpreter
from verify.checking.arguments import Argument, Buffer, Scalar, dtype_name
from verify.checking.expressions import parse_expression
from verify.checking.finding import Counterexample
from verify.checking.setting import scalar_names
from verify.symbolic.walk import symbols_of, value_at

EXTRA = "triton.language.extra"

SPACING = 1 << 48
"""Bytes between buffers: an offset that wraps in 32 bits stays nearest to its own."""

WHAT_ELSE = "NaN or 77"
MOST_ACCESSES = 20_000
MOST_PROGRAMS = 4096
MOST_TOUCHED = 1 << 20

Array = Any


class NotRunError(Exception):
    """The interpreter cannot run this launch."""


@dataclass(frozen=True, slots=True)
class Held:
    """A buffer at an address.

    Attributes:
        name: Parameter.
        base: Address of its first element.
        size: Number of elements.
        bytes: Of an element.
    """

    name: str
    base: int
    size: int
    bytes: int


@dataclass(slots=True)
class Notes:
    """What programs did.

    Attributes:
        held: The buffers.
        contents: Buffer -> offset -> integer that it holds at first.
        lows: Buffer -> integer that it holds elsewhere.
        masked: What a masked-off load without a default gives.
        outside: Accesses outside every buffer: kind, nearest buffer, offset.
        touched: (program, kind, buffer) -> offsets.
        repeated: Stores in which two lanes meet: buffer, offset.
        live: Number of live lanes of each access.
        stored: Offsets and values of each store.
        claims: Claims about values that are false.
    """

    held: list[Held]
    contents: Mapping[str, Mapping[int, int]]
    lows: Mapping[str, int]
    masked: int = 0
    program: int = 0
    accesses: int = 0
    outside: list[tuple[str, str, int]] = field(default_factory=list)
    touched: dict[tuple[int, str, str], set[int]] = field(default_factory=dict)
    repeated: list[tuple[str, int]] = field(default_factory=list)
    live: list[int] = field(default_factory=list)
    stored: list[tuple[tuple[int, ...], tuple[Any, ...]]] = field(default_factory=list)
    written: dict[int, Any] = field(default_factory=dict)
    claims: list[str] = field(default_factory=list)

    def place(self, address: int) -> tuple[Held, int]:
        """Return the buffer that is nearest to an address, and the offset in it."""
        signed = address if address < 1 << 63 else address - (1 << 64)
        index = (signed + SPACING // 2) // SPACING - 1
        one = self.held[min(max(index, 0), len(self.held) - 1)]
        return one, (signed - one.base) // one.bytes

    def note(self, kind: str, addresses: Array, mask: Array) -> None:
        """Note an access."""
        self.accesses += 1
        if self.accesses > MOST_ACCESSES:
            raise NotRunError(f"more than {MOST_ACCESSES} accesses")
        flat = addresses[np.broadcast_to(mask, np.shape(addresses)).astype(bool)]
        live = np.ravel(flat)
        self.live.append(len(live))
        if kind == "store" and len(np.unique(live)) < len(live):
            values, counts = np.unique(live, return_counts=True)
            one, offset = self.place(int(values[counts > 1][0]))
            self.repeated.append((one.name, offset))
        indices = (live + np.uint64(SPACING // 2)) >> np.uint64(48)
        for index in np.unique(indices):
            some = live[indices == index]
            one, _ = self.place(int(some[0]))
            signed = some.view(np.int64)
            offsets = (signed - np.int64(one.base)) // one.bytes
            for offset in offsets[(offsets < 0) | (offsets >= one.size)][:1]:
                self.outside.append((kind, one.name, int(offset)))
            seen = self.touched.setdefault((self.program, kind, one.name), set())
            if len(seen) < MOST_TOUCHED:
                seen.update(offsets.tolist())

    def values(self, addresses: Array) -> Array:
        """Return what addresses hold, as objects."""
        found = np.empty(len(addresses), dtype=object)
        indices = (addresses + np.uint64(SPACING // 2)) >> np.uint64(48)
        for index in np.unique(indices):
            here = indices == index
            one, _ = self.place(int(addresses[here][0]))
            offsets = (addresses[here].view(np.int64) - np.int64(one.base)) // one.bytes
            plain = (offsets * 7919 % 5).astype(object)
            if one.name in self.lows:
                plain[:] = self.lows[one.name]
            for offset, value in self.contents.get(one.name, {}).items():
                plain[offsets == offset] = value
            found[here] = plain
        if self.written:
            for index, address in enumerate(addresses.tolist()):
                if address in self.written:
                    found[index] = self.written[address]
        return found


def interpreted(*what: Any, seconds: float = 300.0) -> str:
    """Return how the interpreter confirms a counterexample; see ``confirmed``.

    It runs in a forked process, as it changes Triton's language in place.

    Args:
        what: The arguments of ``confirmed``.
        seconds: When it is given up.

    Raises:
        NotRunError: it cannot be run there, or nothing broke; says which.
    """
    here, there = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(
        target=_answer, args=(there, what)
    )
    child.start()
    try:
        if not here.poll(seconds):
            raise NotRunError(f"no answer after {seconds:g} s")
        broken, text = here.recv()
    except EOFError:
        raise NotRunError("the interpreter's process died") from None
    finally:
        child.kill()
        child.join()
    if not broken:
        raise NotRunError(text)
    return str(text)


def _answer(pipe: Any, what: tuple[Any, ...]) -> None:
    try:
        pipe.send((True, confirmed(*what)))
    except Exception as error:
        what_ = "" if isinstance(error, NotRunError) else f"{type(error).__name__}: "
        pipe.send((False, f"{what_}{str(error)[:300]}"))


def confirmed(
    kernel: Any,
    args: Mapping[str, Argument],
    constants: Mapping[str, Any],
    example: Counterexample,
    obligation: str,
) -> str:
    """Return how the interpreter confirms a counterexample.

    Args:
        kernel: The ``@triton.jit`` function.
        args: What ``verify.check`` was told of the parameters.
        constants: Values of the compile-time parameters.
        example: The counterexample.
        obligation: What it breaks.

    Raises:
        NotRunError: it cannot be run there, or nothing broke; says which.
    """
    programs = list(example.programs)
    if obligation == "coverage":
        count = int(np.prod(example.grid))
        if count > MOST_PROGRAMS:
            raise NotRunError(f"{count} programs")
        programs = [
            dict(zip("xyz", map(int, place), strict=True))
            for place in np.ndindex(*example.grid)
        ]
    notes = _run(kernel, args, constants, example, programs, 0)
    offset = example.detail.get("offset")
    if obligation == "in_bounds" and notes.outside:
        kind, buffer, at = notes.outside[0]
        return f"{kind} of {buffer}[{at}], outside of every buffer"
    if obligation == "no_wrap":
        return _wrapped(notes, example)
    if obligation in ("write_once", "no_race"):
        return _met(notes)
    if obligation == "coverage":
        buffer = example.statement.split()[3]
        every = set().union(
            *(
                t
                for (_, k, b), t in notes.touched.items()
                if b == buffer and k != "load"
            )
        )
        if offset is not None and int(offset) not in every:
            return f"all {len(programs)} programs run, none stores {buffer}[{offset}]"
    if obligation == "no_poison":
        other = _run(kernel, args, constants, example, programs, 77)
        for (places, one), (_, two) in zip(notes.stored, other.stored, strict=False):
            for place, a, b in zip(places, one, two, strict=False):
                if a != b and not (a != a and b != b):
                    held, at = notes.place(place)
                    return (
                        f"{held.name}[{at}] is {a} where masked-off lanes load 0, "
                        f"{b} where they load {WHAT_ELSE}"
                    )
    if obligation == "alignment" and notes.claims:
        return notes.claims[0]
    halves = [a for a in args.values() if dtype_name(a.dtype) == "bf16"]
    if halves and obligation == "no_poison":
        raise NotRunError("the interpreter has no arithmetic on bfloat16")
    raise NotRunError("the interpreter's run did not break it")


def _wrapped(notes: Notes, example: Counterexample) -> str:
    if "offset" in example.detail:
        wanted = int(example.detail["offset"])
        for (_, kind, buffer), offsets in notes.touched.items():
            if wanted in offsets:
                return (
                    f"{kind} at {buffer}[{wanted}]; exact integers give "
                    f"{example.detail['exact']}"
                )
    if notes.outside:
        kind, buffer, at = notes.outside[0]
        return f"{kind} of {buffer}[{at}], outside of every buffer"
    if "number of live lanes" in example.detail:
        wanted = int(example.detail["number of live lanes"])
        if wanted in notes.live:
            return (
                f"an access by {wanted} live lanes; exact integers give "
                f"{example.detail['exact']}"
            )
    raise NotRunError("the interpreter's run did not break it")


def _met(notes: Notes) -> str:
    if notes.repeated:
        buffer, at = notes.repeated[0]
        return f"two lanes of one program store to {buffer}[{at}]"
    kinds = ("store", "store"), ("store", "load"), ("load", "store")
    changes = ("atomic", "store"), ("store", "atomic"), ("atomic", "load")
    for first, second in (*kinds, *changes, ("load", "atomic")):
        for (program, kind, buffer), offsets in notes.touched.items():
            if (program, kind) == (0, first):
                common = offsets & notes.touched.get((1, second, buffer), set())
                if common:
                    return f"{first} and {second} meet at {buffer}[{min(common)}]"
    raise NotRunError("the interpreter's run did not break it")


def _run(
    kernel: Any,
    args: Mapping[str, Argument],
    constants: Mapping[str, Any],
    example: Counterexample,
    programs: list[Mapping[str, int]],
    masked: int,
) -> Notes:
    """Run programs one after the other."""
    names = scalar_names(args, constants)
    known: dict[Any, int] = {
        node: int(value)
        for name, value in example.arguments.items()
        for node in symbols_of(names[name])
    }

    def number(text: int | str) -> int:
        return int(value_at(parse_expression(text, names), known))

    held: list[Held] = []
    lows: dict[str, int] = {}
    values: dict[str, Any] = {}
    for name, argument in args.items():
        if isinstance(argument, Buffer):
            values[name] = _pointer(name, argument, held, number)
            if argument.low is not None:
                lows[name] = number(argument.low)
    notes = Notes(held, example.contents, lows, masked)
    functions: dict[int, Any] = {}
    _standard(functions)
    function = _interpretable(kernel, functions)
    for name in function.arg_names:
        if name in values:
            continue
        scalar = args.get(name)
        if isinstance(scalar, Scalar):
            values[name] = _scalar(scalar, example.arguments.get(name, 1))
        elif name in constants:
            values[name] = constants[name]
    values = {name: values[name] for name in function.arg_names if name in values}
    grid = tuple(int(n) for n in example.grid)
    with faithful_interpreter(), _noting(notes):
        for number_, program in enumerate(programs):
            notes.program = number_
            _one(function, values, grid, program)
    return notes


def _pointer(name: str, buffer: Buffer, held: list[Held], number: Any) -> Any:
    element = _element(buffer.dtype)
    width = max(1, element.primitive_bitwidth // 8)
    shared = next((h for h in held if h.name == buffer.same_as), None)
    base = shared.base if shared else (len(held) + 1) * SPACING
    if shared is None:
        sizes = [number(extent) for extent in buffer.extents]
        count = int(np.prod(np.asarray(sizes, dtype=object)))
        if buffer.strides is not None and count:
            steps = [number(stride) for stride in buffer.strides]
            count = 1 + sum((n - 1) * s for n, s in zip(sizes, steps, strict=True))
        held.append(Held(name, base, count, width))
    kind = tl.pointer_type(element)
    handle = triton_interpreter.TensorHandle(np.array([base], dtype=np.uint64), kind)
    return tl.tensor(handle, kind)


def _element(dtype: str) -> Any:
    name = dtype_name(dtype)
    spelled = {"i1": "int1", "fp16": "float16", "bf16": "bfloat16"}
    spelled |= {"fp32": "float32", "fp64": "float64"}
    for bits in (8, 16, 32, 64):
        spelled |= {f"i{bits}": f"int{bits}", f"u{bits}": f"uint{bits}"}
    found = getattr(tl, spelled.get(name, name.replace("fp8", "float8")), None)
    if found is None:
        raise NotRunError(f"elements of type {name}")
    return found


def _scalar(scalar: Scalar, value: Any) -> Any:
    element = _element(scalar.dtype)
    dtype = triton_interpreter._get_np_dtype(element)
    handle = triton_interpreter.TensorHandle(np.array([value]).astype(dtype), element)
    return tl.tensor(handle, element)


def _one(
    function: Any, values: dict[str, Any], grid: tuple[int, ...], at: Mapping[str, int]
) -> None:
    builder = triton_interpreter.interpreter_builder
    rewritten = function.rewrite()
    patch = triton_interpreter._patch_lang(rewritten)
    try:
        builder.set_grid_dim(*grid)
        builder.set_grid_idx(*(at.get(axis, 0) for axis in "xyz"))
        rewritten(**values)
    except NotRunError:
        raise
    except Exception as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        raise NotRunError(f"{type(cause).__name__}: {str(cause)[:200]}") from error
    finally:
        patch.restore()


def _interpretable(kernel: Any, known: dict[int, Any]) -> Any:
    """Return a kernel and all that it calls as functions of the interpreter."""
    while not isinstance(kernel, triton.JITFunction):
        kernel = kernel.fn
    if id(kernel) in known:
        return known[id(kernel)]
    fn = kernel.fn
    # the interpreter patches these two where it finds them
    space = {"_language": tl, "_core": tl.core, **fn.__globals__}
    space |= {"_joined": _joined, "_inverted": _inverted}
    copy = types.FunctionType(
        fn.__code__, space, fn.__name__, fn.__defaults__, fn.__closure__
    )
    copy.__annotations__ = fn.__annotations__
    known[id(kernel)] = found = triton_interpreter.InterpretedFunction(copy)
    found.rewriter.ast_transformer = _Logic()
    for name in _named(fn.__code__):
        value = space.get(name)
        if _is_jitted(value):
            space[name] = _interpretable(value, known)
        elif str(getattr(value, "__module__", "")).startswith(EXTRA):
            space[name] = getattr(_InterpretedMath(), name)
        elif isinstance(value, types.ModuleType) and not _is_tritons(value.__name__):
            space[name] = _module(value, _named(fn.__code__), known)
    return found


class _Logic(triton_interpreter.ASTTransformer):  # type: ignore[misc]
    """Lets ``and``, ``or`` and ``not`` work on each lane, as compiled kernels do."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:  # noqa: N802 - ast's name
        """Return the assignment that the interpreter makes, of what it is here."""
        node.value = self.visit(node.value)
        found: ast.AST = super().visit_Assign(node)
        return found

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:  # noqa: N802 - ast's name
        """Return a call of ``_joined``."""
        self.generic_visit(node)
        name = "and" if isinstance(node.op, ast.And) else "or"
        parts = [ast.Lambda(_NOTHING, value) for value in node.values]
        function = ast.Name("_joined", ast.Load())
        return ast.Call(function, [ast.Constant(name), *parts], [])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:  # noqa: N802 - ast's name
        """Return a call of ``_inverted``."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return ast.Call(ast.Name("_inverted", ast.Load()), [node.operand], [])


_NOTHING = ast.arguments([], [], None, [], [], None, [])


def _is_block(value: Any) -> bool:
    return isinstance(value, tl.tensor) and value.numel.value > 1


def _joined(how: str, *parts: Any) -> Any:
    """Return the values of functions, joined as Python or, for blocks, Triton does."""
    found = parts[0]()
    for part in parts[1:]:
        if not _is_block(found):
            if bool(found) is (how == "or"):
                return found
            found = part()
            continue
        other = part()
        if not isinstance(other, tl.tensor):
            found = found if bool(other) is (how == "and") else found * 0 + other
        else:
            one, two = found != 0, other != 0
            found = one & two if how == "and" else one | two
    return found


def _inverted(value: Any) -> Any:
    return value == 0 if _is_block(value) else not value


def _named(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            found |= _named(one)
    return found


def _is_jitted(value: Any) -> bool:
    return isinstance(value, triton.JITFunction)


def _standard(known: dict[int, Any]) -> None:
    """Let the functions of Triton's language that are kernels be interpreted."""
    for owner in (tl, tl.standard, tl.random):
        for name, value in list(vars(owner).items()):
            if _is_jitted(value):
                setattr(owner, name, _interpretable(value, known))
    tl.dtype.value = property(lambda self: self)  # as a constexpr has it
    for name, value in list(vars(tl.tensor).items()):
        if _is_jitted(value):
            function = _interpretable(value, known)
            setattr(tl.tensor, name, _member(function))


def _member(function: Any) -> Any:
    def call(self: Any, *args: Any, **options: Any) -> Any:
        return function(self, *args, **options)

    return call


def _is_tritons(name: str) -> bool:
    return name == "triton" or name.startswith("triton.")


def _module(module: types.ModuleType, used: set[str], known: dict[int, Any]) -> Any:
    found = types.SimpleNamespace()
    for name in used:
        value = getattr(module, name, None)
        if value is not None:
            jitted = _is_jitted(value)
            setattr(found, name, _interpretable(value, known) if jitted else value)
    return found


@contextmanager
def _noting(notes: Notes) -> Iterator[None]:
    """Let the interpreter's accesses be noted; no memory is touched."""
    handle_of = triton_interpreter.TensorHandle
    kind_of = triton_interpreter._get_np_dtype

    def load(self: Any, ptrs: Any, mask: Any, other: Any, *rest: Any) -> Any:
        element = ptrs.get_element_ty()
        notes.note("load", ptrs.data, mask.data)
        where = np.broadcast_to(mask.data, np.shape(ptrs.data)).astype(bool)
        kind = np.dtype(kind_of(element))
        is_float = notes.masked and np.issubdtype(kind, np.floating)
        filler = float("nan") if is_float else notes.masked
        if notes.masked and element == tl.bfloat16:
            filler = 0x7FC0  # a NaN; the interpreter holds this type as integers
        found = np.full(np.shape(ptrs.data), filler).astype(kind)
        if other is not None:
            found = np.array(np.broadcast_to(other.data, found.shape))
        held = notes.values(ptrs.data[where])
        if np.issubdtype(found.dtype, np.integer):
            held = np.asarray([_wrapping(v, found.dtype) for v in held], object)
        found[where] = held.astype(found.dtype)
        return handle_of(found, element)

    def store(self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any) -> None:
        notes.note("store", ptrs.data, mask.data)
        where = np.broadcast_to(mask.data, np.shape(ptrs.data)).astype(bool)
        values = np.broadcast_to(value.data, np.shape(ptrs.data))[where]
        places = tuple(int(a) for a in ptrs.data[where])
        notes.stored.append((places, tuple(values.tolist())))
        notes.written |= dict(zip(places, values.tolist(), strict=True))

    def atomic(self: Any, op: Any, ptr: Any, val: Any, mask: Any, *rest: Any) -> Any:
        notes.note("atomic", ptr.data, mask.data)
        where = np.broadcast_to(mask.data, np.shape(ptr.data)).astype(bool)
        values = np.broadcast_to(val.data, np.shape(ptr.data))[where]
        places = tuple(int(a) for a in np.ravel(ptr.data[where]))
        notes.stored.append((places, tuple(np.ravel(values).tolist())))
        return handle_of(np.zeros_like(val.data), val.dtype.scalar)

    def exchange(self: Any, ptr: Any, cmp: Any, val: Any, *rest: Any) -> Any:
        notes.note("atomic", ptr.data, np.ones_like(ptr.data, dtype=bool))
        return handle_of(np.array(cmp.data), cmp.dtype.scalar)

    def claim(self: Any, key: str, value: Any) -> None:
        divisors = np.ravel(np.asarray(value)).tolist()
        data = self.data
        if key == "tt.contiguity":
            for axis, width in enumerate(divisors[: np.ndim(data)]):
                if width > 1 and _is_broken(np.moveaxis(data, axis, -1), width):
                    notes.claims.append(
                        f"values that are said to be contiguous in groups of {width} "
                        f"along dim {axis} are not"
                    )
        if key == "tt.divisibility" and np.ndim(data):
            firsts = int(np.ravel(data)[0])
            if divisors and firsts % divisors[0]:
                notes.claims.append(f"{firsts} is said to be a multiple of {divisors}")

    builder = triton_interpreter.InterpreterBuilder
    replaced = {
        (builder, "create_masked_load"): load,
        (builder, "create_masked_store"): store,
        (builder, "create_atomic_rmw"): atomic,
        (builder, "create_atomic_cas"): exchange,
        (builder, "create_assert"): lambda self, condition, message: None,
        (handle_of, "set_attr"): claim,
    }
    given = {key: key[0].__dict__[key[1]] for key in replaced}
    for (owner, name), function in replaced.items():
        setattr(owner, name, function)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        for (owner, name), function in given.items():
            setattr(owner, name, function)


def _wrapping(value: Any, kind: Any) -> int:
    """Return an integer as a machine integer of a type holds it."""
    bits = np.dtype(kind).itemsize * 8
    low: int = int(value) & ((1 << bits) - 1)
    is_negative = np.issubdtype(kind, np.signedinteger) and low >= 1 << (bits - 1)
    return low - (1 << bits) if is_negative else low


def _is_broken(data: Array, width: int) -> bool:
    """Whether some group along the last dim is not contiguous."""
    if data.shape[-1] % width:
        return True
    groups = data.reshape(*data.shape[:-1], -1, width)
    return bool((np.diff(groups, axis=-1) != 1).any())
