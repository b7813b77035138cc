"""Swizzled and rotating shared memory with symbolic sizes.

With q = min(max_phase, max(1, rows / per_phase)) phases in use, the address formula
stays within its row exactly if ``q == 1`` or ``vec * q <= columns``. The condition is
found by search (``preconditions``) and proved to be weakest: outside it the formula
leaves the row for every parameter set of the box.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from verify.legacy import SharedModel, amd_rotating_shared, swizzled_shared
from verify.legacy.amd_rotating_shared import SOURCE as ROTATING
from verify.legacy.arithmetic import ceil_div, smaller
from verify.legacy.swizzled_shared import SOURCE as SWIZZLED
from verify.terms import (
    FALSE,
    Formula,
    Size,
    Term,
    all_of,
    any_of,
    at_most,
    equal,
    implies,
    less,
    lift,
    negate,
    variable,
)

from .box import Exponent, bounds
from .preconditions import Condition, weakest_precondition
from .query import Parametric, Query

VEC, PER_PHASE, MAX_PHASE = (Exponent(name, 6) for name in ("v", "pp", "mp"))
ROWS, COLUMNS = Exponent("r", 7), Exponent("c", 7)
PARAMETERS = (VEC, PER_PHASE, MAX_PHASE, ROWS, COLUMNS)
INSTANCES = 7**3 * 8**2
SCOPE = "vec, per_phase, max_phase: up to 2^6; rows and columns: up to 2^7"
EXPECTED = "q == 1 or q*vec <= columns"
SMALL = range(5)
"""Exponents of the box on which the precondition is looked for."""

Make = Callable[..., SharedModel]


def model(make: Make, *, wrap: bool) -> SharedModel:
    """Return the address formula with symbolic sizes."""
    return make(
        (ROWS.size, COLUMNS.size),
        VEC.size,
        PER_PHASE.size,
        MAX_PHASE.size,
        (1, 0),
        wrap=wrap,
    )


def layout(offset: Term, *, rotating: bool) -> tuple[Term, Term]:
    """Return the row and column of an offset: identity, and a piece from row bits.

    Row 2^i has the basis ``(2^i, vec * (2^i / per_phase mod max_phase) mod columns)``;
    a rotating layout has a second such piece, of the bits above a turn.
    """
    columns = COLUMNS.size
    row, column = offset // columns, offset % columns
    turn = row // PER_PHASE.size
    phase = turn % MAX_PHASE.size
    if rotating:
        phase = phase ^ turn // MAX_PHASE.size % MAX_PHASE.size
    return row, column ^ phase * VEC.size % columns


def _point(suffix: str = "") -> tuple[Term, Term]:
    return variable("row" + suffix, 7), variable("column" + suffix, 7)


def _within(*points: tuple[Term, Term]) -> list[Formula]:
    return [
        formula
        for row, column in points
        for formula in (
            less(row, ROWS.size.value()),
            less(column, COLUMNS.size.value()),
        )
    ]


def phases() -> Size:
    """Return q, the number of phases in use."""
    used = smaller(MAX_PHASE.size, ceil_div(ROWS.size, PER_PHASE.size))
    assert isinstance(used, Size)
    return used


def precondition() -> Formula:
    """Return ``q == 1 or vec * q <= columns``."""
    q = phases()
    return any_of(
        (
            equal(q.exponent, 0),
            at_most((VEC.size * q).exponent, COLUMNS.term),
        )
    )


@cache
def found_precondition(make: Make) -> Condition | None:
    """Search the weakest condition under which the plain formula is the layout.

    Args:
        make: ``swizzled_shared`` or ``amd_rotating_shared``.
    """
    cases = []
    for vec in SMALL:
        for per_phase in SMALL:
            for max_phase in SMALL:
                for rows in SMALL:
                    for columns in SMALL:
                        cases.append(
                            _case(make, vec, per_phase, max_phase, rows, columns)
                        )
    return weakest_precondition(cases)


def _case(make: Make, *exponents: int) -> tuple[dict[str, int], bool]:
    """Return the quantities of a parameter set, and whether addresses stay in rows."""
    vec, per_phase, max_phase, rows, columns = (1 << e for e in exponents)
    q = min(max_phase, max(1, rows // per_phase))
    quantities = {
        "vec": vec,
        "per_phase": per_phase,
        "max_phase": max_phase,
        "rows": rows,
        "columns": columns,
        "q": q,
    }
    parameters: tuple[Any, ...] = ((rows, columns), vec, per_phase, max_phase, (1, 0))
    plain, wrapped = make(*parameters, wrap=False), make(*parameters)
    holds = all(
        plain.offset([row, column]) == wrapped.offset([row, column])
        for row in range(rows)
        for column in range(columns)
    )
    return quantities, holds


def _inverts(make: Make, *, rotating: bool) -> list[Query]:
    point = _point()
    row, column = layout(lift(model(make, wrap=True).offset(point)), rotating=rotating)
    claim = all_of((equal(row, point[0]), equal(column, point[1])))
    return [Query("inverse", claim, (*bounds(PARAMETERS), *_within(point)))]


def _weakest(make: Make) -> list[Query]:
    """Ask: sufficient; necessary, with a witness; and the search agrees."""
    found = found_precondition(make)
    if str(found) != EXPECTED:
        return [Query(f"the search found {found}, not {EXPECTED}", FALSE)]
    point = _point()
    plain, wrapped = model(make, wrap=False), model(make, wrap=True)
    stays = equal(plain.offset(point), wrapped.offset(point))
    sufficient = implies(precondition(), stays)
    # the highest phase bit in use, at column 0, is already outside the row
    witness = Size(phases().exponent - 1) * PER_PHASE.size
    place = (witness.value(), lift(0))
    leaves = negate(equal(plain.offset(place), wrapped.offset(place)))
    outside = all_of((leaves, less(place[0], ROWS.size.value())))
    box = bounds(PARAMETERS)
    return [
        Query("sufficient", sufficient, (*box, *_within(point))),
        Query("necessary", outside, (*box, negate(precondition()))),
    ]


def _linear(make: Make) -> list[Query]:
    one, other = _point(), _point("'")
    both = (one[0] ^ other[0], one[1] ^ other[1])
    address = model(make, wrap=True).offset
    claim = equal(address(both), address(one) ^ address(other))
    return [Query("linear", claim, (*bounds(PARAMETERS), *_within(one, other)))]


def _injective(make: Make) -> list[Query]:
    one, other = _point(), _point("'")
    address = model(make, wrap=True).offset
    together = equal(address(one), address(other))
    claim = implies(
        together, all_of((equal(one[0], other[0]), equal(one[1], other[1])))
    )
    return [Query("injective", claim, (*bounds(PARAMETERS), *_within(one, other)))]


def _in_range(make: Make) -> list[Query]:
    point = _point()
    limit = (ROWS.size * COLUMNS.size).value()
    claim = less(model(make, wrap=True).offset(point), limit)
    return [Query("in range", claim, (*bounds(PARAMETERS), *_within(point)))]


def parametric() -> list[Parametric]:
    """Return the theorems about swizzled and rotating shared memory."""
    found = []
    for name, make, source in (
        ("swizzled", swizzled_shared, SWIZZLED),
        ("rotating", amd_rotating_shared, ROTATING),
    ):
        rotating = name == "rotating"
        for sentence, statement, build in (
            (
                "layout_inverts_its_address_formula",
                "The linear layout of the address of an element is that element; the "
                "column is taken modulo the row length",
                partial(_inverts, make, rotating=rotating),
            ),
            (
                "address_stays_in_its_row_exactly_under_the_weakest_precondition",
                f"The plain formula never leaves its row if {EXPECTED}, where q = "
                "min(max_phase, max(1, rows/per_phase)); and it does leave it for "
                "every parameter set outside: the condition is the weakest one",
                partial(_weakest, make),
            ),
            (
                "address_is_linear",
                "The address of the xor of two elements is the xor of the addresses",
                partial(_linear, make),
            ),
            (
                "address_is_injective",
                "No two elements share an address",
                partial(_injective, make),
            ),
            (
                "address_is_in_range",
                "Every address is below the number of elements",
                partial(_in_range, make),
            ),
        ):
            found.append(
                Parametric(
                    name=f"{name}_shared_{sentence}",
                    statement=statement,
                    scope=SCOPE,
                    source=source,
                    instances=INSTANCES,
                    build=build,
                )
            )
    return found
