"""Operations that work element by element: ``arith``, ``math``, casts, selections."""

from collections.abc import Sequence
from typing import Any

from verify.mlir import (
    Dense,
    HexFloat,
    Operation,
    PointerType,
    ScalarType,
    Type,
    element_of,
    shape_of,
)
from verify.symbolic.terms import (
    BOOL,
    FALSE,
    INT,
    POINTER,
    TRUE,
    VALUE,
    Term,
    choose,
    constant,
    opaque,
)

from . import arithmetic
from .machine import Handler, Machine, UnsupportedError
from .tensor import Tensor, Value, pointwise, range_of, sort_of, typed

_NO_VALUE = "no value is modelled"

_PURE_TT = (
    "tt.fp_to_fp",
    "tt.clampf",
    "tt.precise_sqrt",
    "tt.precise_divf",
    "tt.mulhiui",
    "tt.extern_elementwise",
)


def elementwise_of(name: str) -> Handler | None:
    """Return the handler of an ``arith`` or ``math`` operation, or an opaque one."""
    dialect = name.partition(".")[0]
    if dialect in ("arith", "math") or name in _PURE_TT:
        return _operation
    return None


def _operation(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    tensors = [machine.tensor(value, operation) for value in operands]
    if not tensors or len(operation.results) != 1:
        return machine.not_modelled(operation, operands)
    kind = machine.result_kind(operation, 0)
    name = operation.name.partition(".")[2]
    source = str(operation.line)

    def at(*elements: Term) -> Term:
        return _meaning(operation, name, kind, tensors, elements, source)

    return [pointwise(kind, at, *tensors)]


def _meaning(
    operation: Operation,
    name: str,
    kind: Type,
    tensors: Sequence[Tensor],
    elements: Sequence[Term],
    source: str,
) -> Term:
    if operation.name.startswith("arith."):
        if name == "cmpi":
            return arithmetic.compare(
                tensors[0].element, operation.words[0], elements[0], elements[1]
            )
        if name in ("extsi", "extui", "trunci", "index_cast", "index_castui"):
            return arithmetic.widened(
                name, tensors[0].element, kind, elements[0], source
            )
        if len(elements) == 2 and elements[0].sort in (INT, BOOL):
            found = arithmetic.binary(name, kind, elements[0], elements[1], source)
            if found is not None:
                return found
    if operation.name == "math.absi":
        return arithmetic.absolute(kind, elements[0], source)
    sort = VALUE if name == "cmpf" else sort_of(kind)
    words = tuple(w for w in operation.words if w not in ("to",))
    extra = str(operation.attributes.get("symbol", ""))
    if name == "cmpf":
        return opaque(BOOL, name, (*words, *elements))
    return opaque(
        sort, name, (*words, extra, str(element_of(kind)), *elements), *range_of(kind)
    )


def _constant(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    value = operation.attributes["value"]
    kind: Type
    if operation.types:
        kind = operation.types[0]
    elif isinstance(value, bool):
        kind = ScalarType("i1")
    else:
        raise UnsupportedError(f"arith.constant {value!r} without a type")
    inner = value.value if isinstance(value, Dense) else value
    if isinstance(inner, tuple):
        return [_listed(kind, inner)]
    term = constant_term(kind, inner)
    return [typed(kind, lambda _: term)]


def constant_term(kind: Type, value: Any) -> Term:
    """Return a constant of a type."""
    element = element_of(kind)
    sort = sort_of(element)
    if isinstance(value, HexFloat) and sort == VALUE:
        return opaque(VALUE, "constant", (hex(value.bits), str(element)))
    number = value.bits if isinstance(value, HexFloat) else value
    if sort == BOOL:
        return TRUE if number else FALSE
    if sort == INT and isinstance(number, int):
        low, high = range_of(element)
        assert low is not None and high is not None
        return constant((number - low) % (high - low + 1) + low)
    if sort == VALUE and isinstance(number, int | float):
        return opaque(VALUE, "constant", (repr(float(number)), str(element)))
    raise UnsupportedError(f"arith.constant {value!r} : {kind}")


def _listed(kind: Type, values: tuple[Any, ...]) -> Tensor:
    """Return a constant that is written element by element."""
    shape = shape_of(kind)

    def flat(part: Any) -> list[Any]:
        return [x for p in part for x in flat(p)] if isinstance(part, tuple) else [part]

    terms = [constant_term(kind, value) for value in flat(values)]

    def at(coordinates: tuple[Term, ...]) -> Term:
        from verify.symbolic.terms import equal

        from .views import flattened

        place = flattened(shape, coordinates)
        found = terms[-1]
        for index in range(len(terms) - 2, -1, -1):
            found = choose(equal(place, constant(index)), terms[index], found)
        return found

    return typed(kind, at)


def _select(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    test, then, other = (machine.tensor(v, operation) for v in operands)
    kind = operation.types[-1]
    return [pointwise(kind, choose, test, then, other)]


def _bitcast(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    tensor = machine.tensor(operands[0], operation)
    kind = machine.result_kind(operation, 0)
    element, source = element_of(kind), tensor.element
    if isinstance(element, PointerType) and isinstance(source, PointerType):
        if arithmetic.bits_of(element.pointee) != _storage_bits(source):
            size = f"{source} as {element}"
            return [machine.unknown(operation, kind, why=f"tt.bitcast of {size}")]
        return [pointwise(kind, lambda x: x, tensor)]
    if POINTER in (sort_of(element), tensor.sort):
        return [machine.unknown(operation, kind)]

    def at(x: Term) -> Term:
        if sort_of(element) == x.sort != VALUE:
            return x
        return opaque(
            sort_of(element), "bitcast", (str(element), x), *range_of(element)
        )

    return [pointwise(kind, at, tensor)]


def _storage_bits(kind: PointerType) -> int:
    """Return the width of an element in memory: a truth value takes a byte."""
    return max(8, arithmetic.bits_of(kind.pointee))


def _pure_unknown(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    """Return an opaque value of the operands, the same for equal operands."""
    tensors = [machine.tensor(value, operation) for value in operands]
    name = operation.name
    words = operation.words

    def result(index: int) -> Tensor:
        kind = machine.result_kind(operation, index)
        element = element_of(kind)

        def at(*elements: Term) -> Term:
            args = (*words, index, str(element), *elements)
            return opaque(sort_of(element), name, args, *range_of(element))

        return pointwise(kind, at, *tensors)

    return [result(index) for index in range(len(operation.results))]


def _assembly(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    if operation.attributes.get("pure") is not True:
        return machine.not_modelled(operation, operands)
    packed = operation.attributes.get("packed_element", 1)
    if packed != 1:
        kinds = [
            machine.result_kind(operation, i) for i in range(len(operation.results))
        ]
        return [machine.unknown(operation, kind, i) for i, kind in enumerate(kinds)]
    return _pure_unknown(machine, operation, operands)


ELEMENTWISE: dict[str, Handler] = {
    "arith.constant": _constant,
    "arith.select": _select,
    "arith.bitcast": _bitcast,
    "tt.bitcast": _bitcast,
    "tt.elementwise_inline_asm": _assembly,
    "arith.mulsi_extended": _pure_unknown,
    "arith.mului_extended": _pure_unknown,
    "arith.addui_extended": _pure_unknown,
}
