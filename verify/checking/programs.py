"""Program ids as numbers of several digits.

A grid is one axis for several loops: ``pid // 12`` is a row, ``pid % 12`` a tile in it.
Where the kernel takes its program id apart in this way, the id is written as the sum of
digits times weights, so that quotients and remainders vanish, and what is left is
linear.
"""

import re
from collections.abc import Iterator, Mapping

from verify.symbolic.terms import Term, add, constant, less, mul, symbol
from verify.symbolic.walk import nodes_of, substitute, symbols_of
from verify.ttir.machine import MAX_PROGRAMS
from verify.ttir.program import Program


def weights_of(program: Program) -> dict[str, list[int]]:
    """Return axis -> divisors by which the program id is taken apart, least first.

    Each divides the next.
    """
    found: dict[str, list[int]] = {}
    terms = [
        term
        for access in program.accesses
        for term in (access.pointer, access.mask, access.guard)
    ]
    for axis, pid in program.pids.items():
        divisors = {d for term in terms for d in _divisors(term, pid)}
        chain: list[int] = []
        for divisor in sorted(divisors - {1}):
            if not chain or divisor % chain[-1] == 0:
                chain.append(divisor)
        if chain:
            found[axis] = chain
    return found


def _divisors(term: Term, pid: Term) -> Iterator[int]:
    """Yield the weights that quotients and remainders of a program id make."""
    for node in nodes_of(term):
        if node.kind not in ("div", "mod"):
            continue
        scale = _scale(node.args[0], pid)
        if scale is not None and node.args[1].kind == "const":
            yield scale * int(node.args[1].args[0])


def _scale(term: Term, pid: Term) -> int | None:
    """Return how many programs one step of a part of the id stands for."""
    while term.kind in ("fit", "beside"):
        term = term.args[0]
    if term is pid:
        return 1
    if term.kind in ("div", "mod") and term.args[1].kind == "const":
        scale = _scale(term.args[0], pid)
        if scale is None or term.kind == "mod":
            return scale
        return scale * int(term.args[1].args[0])
    return None


def digits(axis: str, weights: list[int], count: Term) -> Term:
    """Return a program id as a sum of digits.

    Args:
        axis: ``x``, ``y`` or ``z``.
        weights: As :func:`weights_of` gives them.
        count: Number of programs along the axis.
    """
    most = MAX_PROGRAMS if count.high is None else min(count.high, MAX_PROGRAMS)
    total = constant(0)
    for place, weight in enumerate([1, *weights]):
        last = place == len(weights)
        high = (max(most, 1) - 1) // weight if last else weights[place] // weight - 1
        total = add(total, mul(constant(weight), symbol(_name(axis, place), 0, high)))
    return total


def _name(axis: str, place: int) -> str:
    return f"pid_{axis}.{place}"


def is_digit(name: str) -> bool:
    """Return whether a symbol's name is that of a digit of a program id."""
    return name.startswith("pid_") and "." in name


def limit(node: Term, pid: Term, count: Term) -> list[Term]:
    """Return what the number of programs says about a digit, or about its copy.

    Args:
        node: A digit of the id, or the same in the second of two programs.
        pid: The id in digits.
        count: Number of programs.
    """
    if pid.high is not None and count.low is not None and pid.high < count.low:
        return []
    mark = re.sub(r"^pid_[xyz]\.\d+", "", str(node.args[0]))
    to: Mapping[Term, Term] = {
        own: symbol(f"{own.args[0]}{mark}", own.low, own.high)
        for own in symbols_of(pid)
        if mark
    }
    return [less(substitute(pid, to), count)]
