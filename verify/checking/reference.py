"""Obligation: the kernel computes what a reference computes.

Against a second kernel: both are evaluated on the same symbols. They are equal if their
stores agree one by one: the same place, under the same condition, the same expression
over uninterpreted scalar operations. Sums, products, maxima and minima of floats are
compared as multisets, so up to the order of their operands; a reduction over lanes is
its combiner and its elements, whatever tree the hardware uses. Where the expressions
differ, both are run on small launches, and a difference in what memory holds at the end
refutes.

Against a PyTorch function: it is called on stand-ins (``traced``), which gives each
element of its result as a term; the value of each store is compared at the store's
coordinates. What cannot be traced is called on the small launches' tensors: a
difference refutes, agreement proves nothing, and stays open.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from verify.symbolic.polynomial import same
from verify.symbolic.terms import (
    INT,
    VALUE,
    Term,
    at_most,
    conjoin,
    constant,
    equal,
    invert,
    opaque,
    rebuilt,
    symbol,
)
from verify.symbolic.walk import substitute, symbols_of
from verify.ttir.program import LOAD, Access
from verify.ttir.run import DEFAULT_FLOAT, GuardedMemory, RunError

from .confirm import (
    Candidate,
    memory_for,
    programs_of,
    run,
    small_launches,
)
from .equality import float_parameters, not_equal
from .finding import Counterexample, Finding
from .folds import folds_equal
from .setting import AXES, Setting
from .traced import NotTracedError, inputs_of

COMMUTATIVE = frozenset({"addf", "mulf", "maxnumf", "minnumf", "maximumf", "minimumf"})
TOLERANCE = 1e-6
"""Relative difference of two float64 results that reassociation explains."""


def agrees(
    setting: Setting, reference: Setting | Callable[..., Any]
) -> Iterator[Finding]:
    """Yield the finding that the kernel computes what the reference does."""
    text = "the kernel computes what the reference computes"
    verdict: Verdict
    if isinstance(reference, Setting):
        reason = _difference(setting, reference)
        if reason is None:
            yield Finding("reference", text, "", Proved("equal expressions"))
            return
        verdict = _tried(setting, text, lambda c: _written(reference, c), reason)
    else:
        function = reference

        def alike(a: Term, b: Term, where: tuple[Term, ...]) -> bool:
            memo: dict[Term, Term] = {}
            return _equal(setting, canonical(a, memo), canonical(b, memo), where)

        found = not_equal(setting, function, alike)
        if found is None and not setting.program.unsupported:
            yield Finding("reference", text, "", Proved("equal expressions"))
            return
        reason = found or "a construct has no meaning here"
        verdict = _tried(setting, text, lambda c: _called(setting, function, c), reason)
    yield Finding("reference", text, "", verdict)


def _stores(setting: Setting) -> list[Access]:
    return [a for a in setting.program.accesses if a.kind != LOAD]


def _difference(setting: Setting, reference: Setting) -> str | None:
    """Return how two kernels differ in their stores; ``None`` where they do not."""
    if setting.program.unsupported or reference.program.unsupported:
        return "a construct has no meaning here"
    mine, theirs = _stores(setting), _stores(reference)
    if len(mine) != len(theirs):
        return f"{len(mine)} stores, the reference has {len(theirs)}"
    if any(setting.grid[axis] is not reference.grid[axis] for axis in AXES):
        return "another grid"
    for one, other in zip(mine, theirs, strict=True):
        where = setting.program.source_of(one.operation)
        if (one.kind, one.lanes, one.operation.words) != (
            other.kind,
            other.lanes,
            other.operation.words,
        ):
            return f"another store at {where}"
        reach = reached(one.loops, conjoin(one.guard, one.mask))
        wanted = reached(other.loops, conjoin(other.guard, other.mask))
        if not _equal(setting, reach, wanted, ()):
            return f"another condition at {where}"
        if not _equal(setting, loose(one.pointer), loose(other.pointer), (reach,)):
            return f"another place at {where}"
        if one.value is None or other.value is None:
            return f"a store without a value at {where}"
        memo: dict[Term, Term] = {}
        left = canonical(loose(one.value.term()), memo)
        right = canonical(loose(other.value.term()), memo)
        if not _equal(setting, left, right, (reach,)):
            return f"another value at {where}"
    if not _same_loops(setting, reference):
        return "another loop"
    return None


def loose(term: Term) -> Term:
    """Return the term with iteration numbers of which no upper end is known.

    Two kernels may count a loop in different steps: the ranges that are known of their
    iteration numbers differ, the numbers themselves do not.
    """
    to = {
        node: symbol(str(node.args[0]), 0, None)
        for node in symbols_of(term)
        if str(node.args[0]).startswith("iteration")
    }
    return substitute(term, to) if to else term


def reached(loops: tuple[Term, ...], condition: Term) -> Term:
    """Return a condition with the ranges of iteration numbers as a part of it.

    They may have been used to simplify the condition, so they are not to be lost.
    """
    ranges = [
        at_most(loose(node), constant(node.high))
        for node in loops
        if node.kind == "symbol" and node.high is not None
    ]
    return conjoin(loose(condition), *ranges)


def _same_loops(setting: Setting, reference: Setting) -> bool:
    """Whether what loops carry is the same in both."""
    mine, theirs = setting.program.loops, reference.program.loops
    if mine.keys() != theirs.keys():
        return False
    memo: dict[Term, Term] = {}
    for key, one in mine.items():
        other = theirs[key]
        for a, b in (
            (one.initial, other.initial),
            (one.carried, other.carried),
            (one.placeholder, other.placeholder),
        ):
            left = canonical(loose(a.term()), memo)
            if left is not canonical(loose(b.term()), memo):
                return False
        mine_runs = reached((one.iteration,), one.guard)
        theirs_run = reached((other.iteration,), other.guard)
        if not _equal(setting, mine_runs, theirs_run, ()):
            return False
    return True


def _equal(setting: Setting, a: Term, b: Term, where: tuple[Term, ...]) -> bool:
    """Whether two terms are equal where some conditions hold."""
    if a is b:
        return True
    if a.sort == b.sort == VALUE:
        for one, other in ((a, b), (b, a)):
            if one.kind == "ite" and other.kind != "ite":
                taken = _without_choice(setting, one, where)
                if taken is not None:
                    return _equal(setting, taken, other, where)
        if a.kind == b.kind == "opaque" and a.args[0] == b.args[0] == "fold":
            return folds_equal(a, b, where, partial(_equal, setting))
    if a.sort != b.sort or a.sort not in (INT, "bool", "pointer"):
        return _pieces_equal(setting, a, b, where)
    if a.sort == "pointer":
        return (
            a.kind == b.kind == "pointer"
            and a.args[0] == b.args[0]
            and _equal(setting, a.args[1], b.args[1], where)
        )
    if a.sort == INT and same(a, b):
        return True
    return setting.ask((*where, invert(equal(a, b)))) is False


def _without_choice(
    setting: Setting, term: Term, where: tuple[Term, ...]
) -> Term | None:
    """Return the branch that is taken there, of a choice that is none there."""
    test, then, other = term.args
    if setting.ask((*where, invert(test))) is False:
        found: Term = then
        return found
    if setting.ask((*where, test)) is False:
        found = other
        return found
    return None


def _pieces_equal(setting: Setting, a: Term, b: Term, where: tuple[Term, ...]) -> bool:
    """Whether two opaque values are made in the same way of equal parts."""
    if a.kind != b.kind or len(a.args) != len(b.args):
        return False
    if a.kind not in ("opaque", "read", "ite"):
        return False
    if a.kind == "ite" and _equal(setting, a.args[0], b.args[0], where):
        # a branch that is not taken there may differ: a default that is masked off
        for x, y, test in zip(
            a.args[1:], b.args[1:], (a.args[0], invert(a.args[0])), strict=True
        ):
            here = (*where, test)
            taken = x is not y and setting.ask(here) is not False
            if taken and not _equal(setting, x, y, here):
                return False
        return True
    if str(a.args[0]).startswith("sorted "):
        return _multisets_equal(setting, a.args, b.args, where)
    for x, y in zip(a.args, b.args, strict=True):
        if isinstance(x, Term) and isinstance(y, Term):
            if not _equal(setting, x, y, where):
                return False
        elif x != y:
            return False
    return True


def _multisets_equal(
    setting: Setting, a: tuple[Any, ...], b: tuple[Any, ...], where: tuple[Term, ...]
) -> bool:
    """Whether the operands of two sums are equal in some order."""
    if [x for x in a if not isinstance(x, Term)] != [
        x for x in b if not isinstance(x, Term)
    ]:
        return False
    left = [x for x in a if isinstance(x, Term)]
    right = [x for x in b if isinstance(x, Term)]
    for x in list(left):
        if x in right:
            left.remove(x)
            right.remove(x)
    for x in left:
        match = next((y for y in right if _equal(setting, x, y, where)), None)
        if match is None:
            return False
        right.remove(match)
    return True


def canonical(term: Term, memo: dict[Term, Term]) -> Term:
    """Return the term with the operands of commutative operations in one order.

    Nested sums are one sum; so a sum is compared as a multiset.
    """
    found = memo.get(term)
    if found is None:
        args = tuple(
            canonical(arg, memo) if isinstance(arg, Term) else arg for arg in term.args
        )
        name = args[0] if term.kind == "opaque" else None
        if name in COMMUTATIVE:
            parts: list[Term] = []
            rest = [a for a in args[1:] if not isinstance(a, Term)]
            for part in (a for a in args[1:] if isinstance(a, Term)):
                head = part.args[: 1 + len(rest)] if part.kind == "opaque" else ()
                if head == ("sorted " + str(name), *rest):
                    parts += part.args[1 + len(rest) :]
                else:
                    parts.append(part)
            ordered = sorted(parts, key=id)
            found = opaque(term.sort, f"sorted {name}", (*rest, *ordered))
        elif any(x is not y for x, y in zip(args, term.args, strict=True)):
            found = rebuilt(term, args)
        else:
            found = term
        memo[term] = found
    return found


Outcome = Mapping[str, Mapping[int, float]]


def _tried(
    setting: Setting,
    text: str,
    expected: Callable[[Candidate], Outcome],
    reason: str,
) -> Verdict:
    """Run the kernel and the reference on small launches."""
    tried = 0
    name = next(
        (b for b, m in setting.memories.items() if m.writes),
        next(iter(setting.memories), ""),
    )
    if not name:
        return Unknown(reason)
    for candidate in with_markers(setting, small_launches(setting, name)):
        try:
            found, wanted = _written(setting, candidate), expected(candidate)
        except NotTracedError as error:
            return Unknown(str(error))
        except RunError as error:
            if candidate.markers:
                continue  # an index buffer that may not hold a marker
            return Unknown(f"{reason}; a launch cannot be run: {error}")
        tried += 1
        different = _first_difference(found, wanted)
        if different is None:
            continue
        buffer, offset, mine, theirs = different
        return Refuted(
            Counterexample(
                statement=text,
                source="",
                arguments={
                    k: v for k, v in candidate.scalars.items() if k in setting.names
                },
                grid=tuple(candidate.grid[axis] for axis in AXES),
                programs=(),
                places={},
                contents=candidate.contents,
                detail={"buffer": buffer, "offset": offset},
                confirmed=(
                    f"run: {buffer}[{offset}] = {mine}, the reference has {theirs}"
                ),
            )
        )
    return Unknown(f"{reason}; {tried} small launches agree")


def with_markers(
    setting: Setting, candidates: Iterator[Candidate]
) -> Iterator[Candidate]:
    """Yield each launch, and once more with index buffers that hold markers.

    A marker is a scalar that is a fixed number, or a negative constant, such as
    ``ignore_index``.
    """
    markers = tuple(
        int(term.args[0])
        for name, term in setting.names.items()
        if term.kind == "const"
        and (name in setting.program.scalars or term.args[0] < 0)
    )
    for candidate in candidates:
        yield candidate
        if markers:
            yield replace(candidate, markers=markers)


def _written(setting: Setting, candidate: Candidate) -> Outcome:
    memory = floating(memory_for(setting, candidate), setting)
    for program in programs_of(candidate):
        run(setting, candidate, program, memory)
    if memory.events:
        raise RunError("it leaves its buffers or uses undefined values")
    return memory.written


def floating(memory: GuardedMemory, setting: Setting) -> GuardedMemory:
    """Return memory whose floats are no integers, so that operations show."""
    inner = memory.initial

    def initial(buffer: str, offsets: Any) -> Any:
        held = inner(buffer, offsets)
        if buffer in setting.floats:
            index = np.asarray(offsets).astype(float)
            waves = np.sin(index * 12.9898 + len(buffer)) * 1.7 + 0.3
            return waves + index % 127 / 40  # later ones tend to be larger
        return held

    return GuardedMemory(memory.sizes, initial)


def _called(
    setting: Setting, function: Callable[..., Any], candidate: Candidate
) -> Outcome:
    """Call a Python function on tensors: it returns the buffers that are written."""
    import torch

    from verify.symbolic.walk import value_at

    memory = floating(memory_for(setting, candidate), setting)
    given: dict[str, Any] = dict(candidate.scalars)
    for name, one in setting.memories.items():
        shape = [int(value_at(extent, candidate.values)) for extent in one.shape]
        strides = [int(value_at(stride, candidate.values)) for stride in one.strides]
        size = max(0, candidate.sizes[name])
        flat = memory.initial(name, np.arange(size))
        kind = torch.float64 if name in setting.floats else torch.int64
        data = torch.tensor([float(x) for x in flat], dtype=torch.float64).to(kind)
        given[name] = torch.as_strided(data, shape, strides) if size else data
    floats = float_parameters(setting)
    given |= {name: candidate.scalars.get(name, DEFAULT_FLOAT) for name in floats}
    names = inputs_of(function, setting.memories, [*candidate.scalars, *floats])
    result = function(*(given[name] for name in names))
    outputs = [n for n, m in setting.memories.items() if m.writes]
    if not isinstance(result, dict):
        many = isinstance(result, tuple | list)
        result = dict(zip(outputs, result if many else (result,), strict=False))
    found: dict[str, dict[int, float]] = {}
    for name, tensor in result.items():
        one = setting.memories[name]
        strides = [int(value_at(stride, candidate.values)) for stride in one.strides]
        found[name] = {
            sum(s * c for s, c in zip(strides, place, strict=True)): float(
                tensor[place]
            )
            for place in np.ndindex(*tensor.shape)
        }
    return found


def _first_difference(
    found: Outcome, wanted: Outcome
) -> tuple[str, int, Any, Any] | None:
    for buffer in sorted({*found, *wanted}):
        mine, theirs = found.get(buffer, {}), wanted.get(buffer, {})
        for offset in sorted({*mine, *theirs}):
            a, b = mine.get(offset), theirs.get(offset)
            if a is None or b is None:
                return buffer, offset, a, b
            left, right = float(a), float(b)
            if np.isnan(left) and np.isnan(right):
                continue
            if left == right:
                continue
            scale = max(1.0, abs(left), abs(right))
            if not abs(left - right) <= TOLERANCE * scale:
                return buffer, offset, left, right
    return None
