"""Obligation: every element of an output is written by some program and lane.

For each dim of the output, the store's address says which sum of symbols runs along it;
the symbols are read off as the digits of the coordinate (``pid = c // 64, lane = c %
64``). The solver then checks that this program and lane exist, take part, and address
the element. No such reading: the question is open, unless a small launch shows a hole.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from algebra.verdict import Proved, Unknown
from verify.symbolic.polynomial import Monomial, polynomial, same, term_of
from verify.symbolic.terms import (
    ZERO,
    Term,
    add,
    at_most,
    conjoin,
    constant,
    div,
    equal,
    invert,
    less,
    mod,
    mul,
    symbol,
)
from verify.symbolic.walk import substitute, symbols_of
from verify.ttir.program import LOAD

from .carriers import taken_apart
from .finding import Finding
from .programs import is_digit
from .races import Place, in_order, places
from .setting import Memory, Setting


@dataclass(frozen=True, slots=True)
class Store:
    """A store, in symbols in which its address is linear where there are any.

    Attributes:
        buffer: What is written.
        offset: Where.
        reach: Whether.
        own: Symbols of program, iterations and lanes.
        source: Line of the program.
    """

    buffer: str
    offset: Term
    reach: Term
    own: frozenset[Term]
    source: str


def _apart(setting: Setting, place: Place) -> Store:
    ids = setting.program.pids.values()
    own = {
        *(node for pid in ids for node in symbols_of(pid)),
        *(lane for lane in place.access.lanes if lane.kind == "symbol"),
        *place.access.loops,
    }
    # what stands for a program id still obeys the number of programs
    known = [fact for node in in_order(own) for fact in setting.facts_of(node)]
    found = taken_apart(place.offset, conjoin(*known, place.reach), own)
    source = setting.program.source_of(place.access.operation)
    return Store(place.buffer, found.offset, found.reach, found.symbols, source)


def covered(setting: Setting) -> Iterator[Finding]:
    """Yield a finding for each buffer that has to be written."""
    written = [_apart(setting, p) for p in places(setting) if p.access.kind != LOAD]
    for name, memory in setting.memories.items():
        if not memory.writes:
            continue
        text = f"every element of {name} is written"
        stores = [p for p in written if p.buffer == name]
        yield _covered(setting, text, name, memory, stores)


def _covered(
    setting: Setting, text: str, name: str, memory: Memory, stores: list[Store]
) -> Finding:
    reason = f"no store to {name}" if not stores else f"no witness was found for {name}"
    coordinates = [symbol(f"element{dim}", 0, None) for dim in range(len(memory.shape))]
    inside = [
        less(c, extent) for c, extent in zip(coordinates, memory.shape, strict=True)
    ]
    element = ZERO
    for c, stride in zip(coordinates, memory.strides, strict=True):
        element = add(element, mul(c, stride))
    flat = symbol("element", 0, None)
    forms = [(coordinates, memory.strides, element, inside)]
    if memory.dense and len(memory.shape) != 1:
        forms.insert(0, ([flat], (constant(1),), flat, [less(flat, memory.size)]))
    source = ""
    missing: list[Term] = []
    for places_of, strides, wanted, limits in forms:
        missing = []
        for store in stores:
            source = source or store.source
            witness = witness_of(store, places_of, strides)
            if witness is None:
                continue
            holds = _takes_part(setting, store, witness, wanted)
            missing.append(invert(holds))
            if setting.ask((*limits, *missing)) is False:
                return Finding("coverage", text, source, Proved("z3"))
    return Finding("coverage", text, source, Unknown(reason), tuple(missing))


def _takes_part(
    setting: Setting, store: Store, witness: Mapping[Term, Term], wanted: Term
) -> Term:
    """Return the condition that the witness exists and writes the element."""
    memo: dict[Term, Term] = {}
    reach = substitute(store.reach, witness, memo)
    offset = substitute(store.offset, witness, memo)
    exists = []
    for node, value in witness.items():
        if node.low is not None:
            exists.append(at_most(constant(node.low), value))
        name = str(node.args[0])
        if node.high is not None and (is_digit(name) or not name.startswith("pid_")):
            exists.append(at_most(value, constant(node.high)))
        exists += [substitute(f, witness, memo) for f in setting.facts_of(node)]
    return conjoin(*exists, reach, equal(offset, wanted))


def witness_of(
    store: Store,
    coordinates: list[Term],
    strides: tuple[Term, ...],
) -> dict[Term, Term] | None:
    """Read off which program, iteration and lane write an element.

    Args:
        store: The store.
        coordinates: Symbols of the element's coordinates.
        strides: Stride of each [elements].

    Returns:
        Symbol -> term over the coordinates; ``None`` where the address has another
        form.
    """
    moving = set(symbols_of(store.offset) | symbols_of(store.reach))
    own = store.own & moving
    parts = polynomial(store.offset)
    groups: dict[int, list[tuple[int, Term]]] = {}
    for monomial, coefficient in parts.items():
        mine = [atom for atom in monomial if symbols_of(atom) & own]
        if not mine:
            continue
        if len(mine) != 1 or mine[0] not in own:
            return None
        rest = tuple(atom for atom in monomial if atom is not mine[0])
        dim = _dim(rest, coefficient, strides)
        if dim is None:
            return None
        groups.setdefault(dim[0], []).append((dim[1], mine[0]))
    found: dict[Term, Term] = {}
    for dim_index, digits in groups.items():
        digits.sort(key=lambda pair: -pair[0])
        left = coordinates[dim_index]
        for position, (weight, node) in enumerate(digits):
            if position == len(digits) - 1 and weight == 1:
                found[node] = left
            else:
                found[node] = div(left, constant(weight))
                left = mod(left, constant(weight))
    for node in own - set(found):
        if node.low is None:
            return None
        found[node] = constant(node.low)
    return found


def _dim(
    rest: Monomial, coefficient: int, strides: tuple[Term, ...]
) -> tuple[int, int] | None:
    """Return the dim whose stride divides a monomial, and the quotient."""
    for index, stride in enumerate(strides):
        parts = polynomial(stride)
        if len(parts) != 1:
            if same(term_of({rest: coefficient}), stride):
                return index, 1
            continue
        ((monomial, factor),) = parts.items()
        if monomial == rest and coefficient % factor == 0 and coefficient // factor > 0:
            return index, coefficient // factor
    return None
