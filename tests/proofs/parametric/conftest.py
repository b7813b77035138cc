from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from algebra.errors import EncodingError
from algebra.layout import LinearLayout
from proofs.parametric import Query
from proofs.parametric.distributed import Subject
from verify.solver import variables_of
from verify.terms import Formula, Term, all_of, holds

Draw = Callable[[Random], dict[str, int]]
Build = Callable[[dict[str, int]], LinearLayout]


@pytest.fixture
def agrees() -> Callable[..., int]:
    """Compare pieces with the algebra, at random parameters of the box.

    The pieces of a subject are evaluated to bases; the algebra's layout of the same
    numbers must have them. Returns how many parameter sets were compared; those that
    the encoding refuses are not.
    """

    def run(
        subject: Subject, build: Build, wanted: int = 60, draw: Draw | None = None
    ) -> int:
        hardware = set(subject.bits)
        assumptions = [
            formula
            for formula in subject.assumptions(subject.point())
            if not set(variables_of(formula)) & hardware
        ]
        box = all_of(assumptions)
        names = variables_of(box)
        rng = Random(subject.name)
        found = tries = 0
        while found < wanted and tries < 20_000:
            tries += 1
            exponents = {name: rng.randrange(1 << bits) for name, bits in names.items()}
            if draw is not None:
                exponents |= draw(rng)
            if not holds(box, exponents):
                continue
            try:
                layout = build(exponents)
            except EncodingError:
                continue
            expected: dict[str, Any] = {name: layout.bases[name] for name in hardware}
            assert subject.layout.bases(exponents) == expected, exponents
            found += 1
        return found

    return run


HARDWARE = {"register", "lane", "warp", "register'", "lane'", "warp'"}


@pytest.fixture
def count() -> Callable[[Query], int]:
    """Count the parameter sets of a question: its assumptions without the hardware."""
    return _count


def _count(query: Query) -> int:
    box = [f for f in query.assumptions if not set(variables_of(f)) & HARDWARE]
    bits = variables_of(all_of(box))
    first, *others = bits
    shape = tuple(1 << bits[name] for name in others)
    total = 0
    for value in range(1 << bits[first]):
        values: dict[str, Any] = {first: np.int16(value)}
        for place, name in enumerate(others):
            axis = [1] * len(others)
            axis[place] = shape[place]
            values[name] = np.arange(shape[place], dtype=np.int16).reshape(axis)
        inside = np.ones(shape, dtype=bool)
        for formula in box:
            inside &= _truth(formula, values)
        total += int(np.count_nonzero(inside))
    return total


def _number(term: Term, values: dict[str, Any]) -> Any:
    kind, args = term.kind, term.args
    if kind == "const":
        return np.int16(args[0])
    if kind == "var":
        return values[args[0]]
    if kind == "ite":
        yes, no = _number(args[1], values), _number(args[2], values)
        return np.where(_truth(args[0], values), yes, no)
    left = _number(args[0], values)
    if kind in ("shl", "lshr"):
        return left << args[1] if kind == "shl" else left >> args[1]
    operator = {"add": np.add, "sub": np.subtract, "or": np.bitwise_or}[kind]
    return operator(left, _number(args[1], values))


def _truth(formula: Formula, values: dict[str, Any]) -> Any:
    kind, args = formula.kind, formula.args
    if kind == "not":
        return ~_truth(args[0], values)
    left, right = _number(args[0], values), _number(args[1], values)
    return left == right if kind == "eq" else left < right
