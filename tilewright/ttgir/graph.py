"""Read TTGIR back as a tile graph."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from compiler.ir import scalar
from compiler.ir.expression import Expression, substitute
from compiler.ir.index import add, floordiv, index, maximum, minimum, mod, mul, symbol
from compiler.ir.tile import Tile, TileGraph, TileMap, coordinate
from compiler.ir.tile_builder import TileBuilder
from verify.mlir import Dense, Function, Module, Operation, PointerType, TensorType

TYPES = {
    "i1": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "f8E4M3FN": "int8",
    "f8E5M2": "int8",
}
"""MLIR's type -> a value type of the same width."""
SPACE = 1 << 40
"""Elements of an array of unknown size."""
_INDICES: Mapping[str, Callable[..., Expression]] = {
    "arith.addi": add,
    "arith.muli": mul,
    "arith.subi": lambda a, b: add(a, mul(b, -1)),
    "arith.divsi": floordiv,
    "arith.remsi": mod,
    "arith.minsi": minimum,
    "arith.maxsi": maximum,
}
_COMPARISONS = {
    "slt": "lt",
    "sle": "le",
    "sgt": "gt",
    "sge": "ge",
    "eq": "eq",
    "ne": "ne",
    "ult": "lt",
    "ule": "le",
}


class NotModelledError(ValueError):
    """An operation that tile graphs do not have."""


@dataclass(frozen=True, slots=True)
class Places:
    """An index, a condition or a pointer at each element.

    Attributes:
        shape: Of the tensor; () of a scalar.
        value: Over coordinates and symbols; of a pointer what is added to its base.
        base: Array's name; "" of what is no pointer.
        operands: Tiles that the value reads.
    """

    shape: tuple[int, ...]
    value: Expression
    base: str = ""
    operands: tuple[Tile, ...] = ()


Value = Tile | Places


def graph_of(module: Module) -> TileGraph:
    """Return the first function of a module as a tile graph.

    Raises:
        NotModelledError: an operation has no operator; names it and its line.
    """
    function = next(iter(module.functions.values()))
    return _Reader(function).graph()


class _Reader:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.builder = TileBuilder(function.name)
        self.values: dict[str, Value] = {}
        self.unknown = 0
        for argument in function.arguments:
            name = argument.name[1:]
            if isinstance(argument.type, PointerType):
                dtype = _dtype(argument.type.pointee)
                self.builder.buffer(name, dtype, [SPACE])
                self.values[argument.name] = Places((), index(0), name)
            else:
                by = argument.attributes.get("tt.divisibility", 1)
                size = self.builder.size(name, divisible=_plain(by), typical=1024)
                self.values[argument.name] = Places((), size)

    def graph(self) -> TileGraph:
        for operation in self.function.body.blocks[0].operations:
            self._operation(operation)
        return self.builder.graph()

    def _operation(self, operation: Operation) -> None:
        name = operation.name
        method = _READERS.get(name)
        if method is not None:
            method(self, operation)
        elif name in ("tt.return", "scf.yield", "gpu.barrier", "llvm.intr.assume"):
            return
        elif name.startswith(("arith.", "math.")) or name in _COMPUTING:
            self._computed(operation)
        else:
            raise NotModelledError(
                f"line {operation.line}: {name} has no operator of tile graphs"
            )

    # values

    def _set(self, operation: Operation, value: Value) -> None:
        self.values[operation.results[0]] = value

    def _fresh(self) -> Expression:
        """Return a number of which nothing is known."""
        self.unknown += 1
        return symbol(f"unknown{self.unknown}")

    def _places(self, operation: Operation, at: int) -> Places | None:
        value = self.values.get(operation.operands[at])
        return value if isinstance(value, Places) else None

    def _tile(self, name: str, like: tuple[int, ...] | None = None) -> Tile:
        value = self.values[name]
        if isinstance(value, Tile):
            return value
        shape = value.shape or like or (1,)
        dtype = "int32" if value.value.dtype == "index" else value.value.dtype
        if value.value.dtype == "index":
            return self.builder.counted(value.value, shape, dtype)
        tile = self.builder.tile(shape, value.value.dtype)
        self.builder.operators.append(TileMap(tile, (), value.value))
        return tile

    # operations

    def _constant(self, operation: Operation) -> None:
        value = operation.attributes["value"]
        kind = operation.types[-1] if operation.types else None
        shape = kind.shape if isinstance(kind, TensorType) else ()
        element = kind.element if isinstance(kind, TensorType) else kind
        number = value.value if isinstance(value, Dense) else value
        if _dtype(element).startswith("int") and isinstance(number, int):
            self._set(operation, Places(shape, index(number)))
            return
        number = float(number) if isinstance(number, int | float) else 0.0
        dtype = _dtype(element)
        self._set(operation, Places(shape, scalar.constant(number, dtype)))

    def _program(self, operation: Operation) -> None:
        axis = "xyz".index(operation.words[0]) if operation.words else 0
        self._set(operation, Places((), symbol(f"program{axis}")))

    def _range(self, operation: Operation) -> None:
        start = _plain(operation.attributes.get("start", 0))
        kind = operation.result_type()
        assert isinstance(kind, TensorType)
        self._set(operation, Places(kind.shape, add(coordinate(0), start)))

    def _splat(self, operation: Operation) -> None:
        kind = operation.result_type()
        assert isinstance(kind, TensorType)
        value = self._places(operation, 0)
        if value is None:
            raise NotModelledError(f"line {operation.line}: a splat of a tensor")
        self._set(operation, Places(kind.shape, value.value, value.base))

    def _expand(self, operation: Operation) -> None:
        axis = _plain(operation.attributes["axis"])
        value = self.values[operation.operands[0]]
        if isinstance(value, Tile):
            self._set(operation, self.builder.expand_dims(value, axis))
            return
        self._plain_places(operation, value)
        shape = (*value.shape[:axis], 1, *value.shape[axis:])
        moved = {
            coordinate(old): coordinate(old + 1)
            for old in range(axis, len(value.shape))
        }
        found = substitute(value.value, moved)
        self._set(operation, Places(shape, found, value.base))

    def _broadcast(self, operation: Operation) -> None:
        kind = operation.result_type()
        assert isinstance(kind, TensorType)
        value = self.values[operation.operands[0]]
        if isinstance(value, Tile):
            self._set(operation, self.builder.fit(value, kind.shape))
            return
        self._plain_places(operation, value)
        gone: dict[Expression, Expression] = {
            coordinate(axis): index(0)
            for axis, size in enumerate(value.shape)
            if size == 1
        }
        found = substitute(value.value, gone)
        self._set(operation, Places(kind.shape, found, value.base))

    def _plain_places(self, operation: Operation, value: Places) -> None:
        if value.operands:
            raise NotModelledError(
                f"line {operation.line}: {operation.name} of addresses that are loaded"
            )

    def _loop(self, operation: Operation) -> None:
        """Read a loop: tensors of values are carried, addresses move alike."""
        (_, _), *bound = operation.bindings
        body = operation.regions[0].blocks[0]
        handed = body.terminator.operands if body.terminator else ()
        carried = []
        for number, (argument, first) in enumerate(bound):
            kind = operation.result_types[number] if operation.result_types else None
            wide = isinstance(kind, TensorType) and not isinstance(
                kind.element, PointerType
            )
            value = self.values[first]
            if wide and (isinstance(value, Tile) or value.value.dtype != "index"):
                carried.append((number, argument, self._tile(first)))
            else:
                self.values[argument] = value
        rounds = self.builder.size(f"rounds{self.unknown}", typical=8)
        self.unknown += 1
        counter = f"counter{self.unknown}"
        self.values[operation.bindings[0][0]] = Places((), symbol(counter))
        firsts = [tile for _, _, tile in carried]
        with self.builder.loop(counter, rounds, *firsts) as inside:
            for (_, argument, _), tile in zip(carried, inside.arguments, strict=True):
                self.values[argument] = tile
            for one in body.operations:
                self._operation(one)
            inside.yields(*(self._tile(handed[number]) for number, _, _ in carried))
        for number, (argument, _) in enumerate(bound):
            self.values[operation.results[number]] = self.values[argument]
        for (number, _, _), tile in zip(carried, inside.results, strict=True):
            self.values[operation.results[number]] = tile

    def _pointer(self, operation: Operation) -> None:
        pointer = self._places(operation, 0)
        if pointer is None or not pointer.base:
            raise NotModelledError(f"line {operation.line}: a pointer that is loaded")
        offset = self.values[operation.operands[1]]
        read = pointer.operands
        if isinstance(offset, Tile):
            tile = self.builder.cast(offset, "int32")
            read = (*read, tile)
            at = scalar.local(tile.name, "int32")
            moved = scalar.checked_index(at, SPACE, False)
        else:
            moved = offset.value
        shape = pointer.shape or offset.shape
        found = Places(shape, add(pointer.value, moved), pointer.base, read)
        self._set(operation, found)

    def _load(self, operation: Operation) -> None:
        pointer = self._places(operation, 0)
        assert pointer is not None, "pointers are places"
        if not pointer.shape:
            self._set(operation, Places((), self._fresh()))
            return
        condition = None
        if len(operation.operands) > 1:
            mask = self._places(operation, 1)
            condition = None if mask is None else mask.value
        tile = self.builder.load(
            pointer.base,
            [pointer.value],
            pointer.shape,
            condition,
            operands=pointer.operands,
        )
        self._set(operation, tile)

    def _store(self, operation: Operation) -> None:
        pointer = self._places(operation, 0)
        assert pointer is not None, "pointers are places"
        if not pointer.shape:
            return
        value = self._tile(operation.operands[1], pointer.shape)
        value = self.builder.cast(value, self.builder.buffers[pointer.base].dtype)
        condition = None
        if len(operation.operands) > 2:
            mask = self._places(operation, 2)
            condition = None if mask is None else mask.value
        self.builder.store(
            pointer.base, [pointer.value], value, condition, operands=pointer.operands
        )

    def _transpose(self, operation: Operation) -> None:
        order = [_plain(one) for one in operation.attributes["order"]]
        tile = self._tile(operation.operands[0])
        self._set(operation, self.builder.transpose(tile, order))

    def _reshape(self, operation: Operation) -> None:
        kind = operation.result_type()
        assert isinstance(kind, TensorType)
        tile = self._tile(operation.operands[0])
        self._set(operation, self.builder.reshape(tile, kind.shape))

    def _join(self, operation: Operation) -> None:
        low, high = (self._tile(name) for name in operation.operands)
        self._set(operation, self.builder.join(low, high))

    def _split(self, operation: Operation) -> None:
        halves = self.builder.split(self._tile(operation.operands[0]))
        for name, half in zip(operation.results, halves, strict=True):
            self.values[name] = half

    def _fold(self, operation: Operation) -> None:
        if len(operation.operands) != 1:
            raise NotModelledError(
                f"line {operation.line}: {operation.name} of several tensors"
            )
        inner = " ".join(
            one.name
            for block in operation.regions[0].blocks
            for one in block.operations
        )
        reducer = (
            "maximum" if "max" in inner else "minimum" if "min" in inner else "sum"
        )
        axis = _plain(operation.attributes["axis"])
        tile = self._tile(operation.operands[0])
        method = (
            self.builder.reduce if operation.name == "tt.reduce" else self.builder.scan
        )
        made = method(reducer, tile, axis)
        if not made.shape:
            self._set(operation, Places((), self._fresh()))
        else:
            self._set(operation, made)

    def _gather(self, operation: Operation) -> None:
        axis = _plain(operation.attributes["axis"])
        source, at = (self._tile(name) for name in operation.operands[:2])
        at = self.builder.cast(at, "int32")
        self._set(operation, self.builder.gather(source, at, axis))

    def _same(self, operation: Operation) -> None:
        self._set(operation, self.values[operation.operands[0]])

    def _compare(self, operation: Operation) -> None:
        left, right = self._places(operation, 0), self._places(operation, 1)
        kind = _COMPARISONS.get(operation.words[0] if operation.words else "")
        indices = [
            one is not None and one.value.dtype == "index" for one in (left, right)
        ]
        if left is None or right is None or kind is None or not all(indices):
            self._computed(operation)
            return
        parts = (scalar.from_index(one.value, "int32") for one in (left, right))
        found = scalar.apply(kind, *parts)
        self._set(operation, Places(left.shape or right.shape, found))

    def _computed(self, operation: Operation) -> None:
        values = [self.values[name] for name in operation.operands]
        kind = operation.result_type()
        shape = kind.shape if isinstance(kind, TensorType) else ()
        places = [one for one in values if isinstance(one, Places)]
        if len(places) == len(values):
            self._set(operation, Places(shape, self._indices(operation, places)))
            return
        dtype = _dtype(kind.element if isinstance(kind, TensorType) else kind)
        if operation.name == "arith.cmpi" or operation.name == "arith.cmpf":
            dtype = "bool"
        tiles = [one for one in values if isinstance(one, Tile)]
        others = [one.value for one in places if one.shape and not one.base]

        def value(*read_values: Expression) -> Expression:
            parts = [scalar.cast(one, "float32") for one in read_values]
            for other in others:
                wide = (
                    scalar.from_index(other, "float32")
                    if other.dtype == "index"
                    else scalar.cast(other, "float32")
                )
                if wide.op != "constant":
                    parts.append(wide)
            total = parts[0]
            for part in parts[1:]:
                total = scalar.apply("add", total, part)
            return scalar.cast(total, dtype)

        self._set(operation, self.builder.map(value, *tiles))

    def _indices(self, operation: Operation, places: list[Places]) -> Expression:
        values = [one.value for one in places]
        if operation.name in _INDICES and all(one.dtype == "index" for one in values):
            return _INDICES[operation.name](*values)
        if operation.name in ("arith.extsi", "arith.trunci", "arith.index_cast"):
            return values[0]
        bools = all(one.dtype == "bool" for one in values)
        if operation.name in ("arith.andi", "arith.ori") and bools:
            both = operation.name == "arith.andi"
            return scalar.apply("bitwise_and" if both else "bitwise_or", *values)
        kind = operation.result_type()
        element = kind.element if isinstance(kind, TensorType) else kind
        unknown = self._fresh()
        if _dtype(element).startswith("int"):
            return unknown
        return scalar.from_index(unknown, _dtype(element))


def _dtype(kind: Any) -> str:
    found = TYPES.get(str(kind))
    if found is None:
        raise NotModelledError(f"the type {kind} has no value type")
    return found


def _plain(value: Any) -> int:
    while isinstance(value, Dense | tuple):
        value = value.value if isinstance(value, Dense) else value[0]
    return int(value)


_COMPUTING = ("tt.fp_to_fp", "tt.extern_elementwise", "tt.precise_divf", "tt.bitcast")
_READERS: Mapping[str, Callable[[_Reader, Operation], None]] = {
    "arith.constant": _Reader._constant,
    "tt.get_program_id": _Reader._program,
    "tt.make_range": _Reader._range,
    "tt.splat": _Reader._splat,
    "tt.expand_dims": _Reader._expand,
    "tt.broadcast": _Reader._broadcast,
    "tt.addptr": _Reader._pointer,
    "tt.load": _Reader._load,
    "tt.store": _Reader._store,
    "tt.trans": _Reader._transpose,
    "tt.reshape": _Reader._reshape,
    "tt.join": _Reader._join,
    "tt.split": _Reader._split,
    "tt.reduce": _Reader._fold,
    "tt.scan": _Reader._fold,
    "tt.gather": _Reader._gather,
    "ttg.convert_layout": _Reader._same,
    "arith.cmpi": _Reader._compare,
    "scf.for": _Reader._loop,
}
