"""Find a condition under which a kernel is right, where it is not always right.

Candidates are of the forms that people write: a buffer has fewer than 2**31 elements, a
size is at most some block or a multiple of it, a stride is no smaller than a size, an
index that is read from memory is within an extent. Each failing statement is asked
again under each candidate, the weakest kind first; the conjunction that settles all of
them is thinned out, and the whole check is repeated under it before it is printed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from algebra.verdict import Refuted, Unknown
from verify.symbolic.polynomial import polynomial
from verify.symbolic.terms import (
    INT,
    ZERO,
    Term,
    at_most,
    constant,
    equal,
    less,
    mul,
)
from verify.symbolic.walk import nodes_of
from verify.ttir.program import LOAD

from .finding import Finding
from .setting import Memory, Setting, multiple_of

QUICK = 0.3
"""Limit of a question under a candidate [seconds]."""

MOST = 120
"""Most candidates that are tried."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A candidate.

    Attributes:
        text: As a person writes it.
        term: About the scalars; ``None`` where it is about contents.
        buffer: Buffer whose contents are bounded.
        low: Least integer in it.
        high: Largest integer in it.
        solved: Symbol -> what it is under the condition, where that says it all.
    """

    text: str
    term: Term | None = None
    solved: Mapping[Term, Term] = field(default_factory=dict)
    buffer: str = ""
    low: Term | None = None
    high: Term | None = None


def weakest(setting: Setting, findings: Sequence[Finding]) -> list[Condition] | None:
    """Return conditions under which no finding fails; ``None`` where none are found.

    Args:
        setting: The setting in which the findings fail.
        findings: The failing ones; each has the formulas that break it.
    """
    failing = [f for f in findings if f.formulas]
    if not failing or len(failing) != len(findings):
        return None
    options = list(candidates(setting, failing))[:MOST]
    chosen: list[Condition] = []
    for finding in failing:
        if _settles(setting, chosen, finding):
            continue
        single = next(
            (o for o in options if _settles(setting, [*chosen, o], finding)), None
        )
        if single is None:
            single_pair = _pair(setting, chosen, options, finding)
            if single_pair is None:
                return None
            chosen += single_pair
        else:
            chosen.append(single)
    for one in list(chosen):
        rest = [c for c in chosen if c is not one]
        if all(_settles(setting, rest, finding) for finding in failing):
            chosen = rest
    return chosen


def _pair(
    setting: Setting,
    chosen: Sequence[Condition],
    options: Sequence[Condition],
    finding: Finding,
) -> list[Condition] | None:
    """Return several conditions that settle a finding which no single one does."""
    everything = [*chosen, *options]
    if not _settles(setting, everything, finding):
        return None
    kept = list(options)
    size = max(1, len(kept) // 2)
    while size:  # the last ones are the strongest: they go first
        end = len(kept)
        while end > 0:
            rest = kept[: max(0, end - size)] + kept[end:]
            if _settles(setting, [*chosen, *rest], finding):
                kept = rest
            end -= size
        size //= 2
    return kept


def under(setting: Setting, conditions: Sequence[Condition]) -> Setting:
    """Return the setting with conditions assumed."""
    terms = [c.term for c in conditions if c.term is not None]
    memories: dict[str, Memory] = dict(setting.memories)
    for condition in conditions:
        if condition.buffer:
            memory = memories[condition.buffer]
            memories[condition.buffer] = replace(
                memory, low=condition.low, high=condition.high
            )
    replaced = dict(setting.replaced)
    for condition in conditions:
        replaced |= condition.solved
    return replace(
        setting,
        assumptions=[*setting.assumptions, *terms],
        memories=memories,
        replaced=replaced,
    )


def _settles(
    setting: Setting, conditions: Sequence[Condition], finding: Finding
) -> bool:
    return under(setting, conditions).ask(finding.formulas, QUICK) is False


def candidates(setting: Setting, failing: Sequence[Finding]) -> Iterator[Condition]:
    """Yield candidates, the weakest kind first."""
    involved = {
        node
        for finding in failing
        for formula in finding.formulas
        for node in nodes_of(formula)
    }
    names = {
        name: term
        for name, term in setting.names.items()
        if term.kind == "symbol" and term.low != term.high
    }
    yield from _contents(setting, names, involved)
    seen: set[Term] = set()
    for memory in setting.memories.values():
        text = _product(memory, names)
        for bits in (31, 63):
            term = less(memory.size, constant(2**bits))
            if text and term not in seen and term.kind == "not":
                seen.add(term)
                yield Condition(f"{text} < 2**{bits}", term)
    blocks = sorted(
        {
            lane.high + 1
            for access in setting.program.accesses
            for lane in access.lanes
            if lane.high
        }
        | _constants(involved)
    )
    local = {n: t for n, t in names.items() if t in involved or len(names) <= 8}
    for name, term in local.items():
        for block in sorted({b for b in blocks if b > 1}, reverse=True)[:6]:
            limit = 2**31 - block
            yield Condition(f"{name} <= {limit}", at_most(term, constant(limit)))
    for name, term in local.items():
        for factor in sorted(_constants(involved) - set(range(2)))[:8]:
            limit = (2**31 - 1) // factor
            yield Condition(f"{name} <= {limit}", at_most(term, constant(limit)))
    for name, term in local.items():
        for block in blocks:
            multiple = multiple_of(term, block) if 1 < block <= 2**17 else term
            quotient = multiple.args[-1] if multiple.kind == "mul" else multiple
            if multiple is not term and not _is_empty(quotient):
                text = f"{name} % {block} == 0"
                yield Condition(text, solved={term: multiple})
    for name, term in local.items():
        for other, value in local.items():
            if name < other:
                product = less(mul(term, value), constant(2**31))
                yield Condition(f"{name}*{other} < 2**31", product)
    for name, term in local.items():
        for other, value in local.items():
            if name != other:
                yield Condition(f"{name} <= {other}", at_most(term, value))
    for name, term in local.items():
        for block in blocks:
            yield Condition(f"{name} <= {block}", at_most(term, constant(block)))
    for name, term in local.items():
        if term.low is None or term.low < 0:
            yield Condition(f"{name} >= 0", at_most(ZERO, term))
        if "stride" in name.lower():
            yield Condition(f"{name} == 1", equal(term, constant(1)))


def _is_empty(symbol: Term) -> bool:
    """Whether a range has no number: its symbol is a vacuous assumption."""
    low, high = symbol.low, symbol.high
    return low is not None and high is not None and low > high


def _constants(involved: set[Term]) -> set[int]:
    """Return the block sizes and factors that the failing statements mention."""
    return {
        node.args[0]
        for node in involved
        if node.kind == "const" and 1 < node.args[0] <= 2**20
    }


def _product(memory: Memory, names: Mapping[str, Term]) -> str:
    """Return the number of elements as a product of names."""
    parts = polynomial(memory.size)
    if len(parts) != 1:
        return ""
    ((monomial, factor),) = parts.items()
    spelled = [str(factor)] if factor != 1 else []
    for atom in sorted(
        monomial,
        key=lambda a: list(names.values()).index(a) if (a in names.values()) else -1,
    ):
        if atom.kind != "symbol":
            return ""
        spelled.append(str(atom.args[0]))
    return "*".join(spelled)


def _contents(
    setting: Setting, names: Mapping[str, Term], involved: set[Term]
) -> Iterator[Condition]:
    """Yield bounds on what index buffers hold: within an extent."""
    buffers = sorted(
        {
            str(node.args[0])
            for node in involved
            if node.kind == "read" and node.sort == INT and node.args[1] == 0
        }
    )
    extents: dict[Term, str] = {}
    for memory in setting.memories.values():
        for extent in reversed(memory.shape):  # classes are the innermost dim
            extents.setdefault(extent, str(extent))
    for name, term in names.items():
        extents.setdefault(term, name)
    for buffer in buffers:
        held = setting.memories.get(buffer)
        if held is None or held.low is not None or held.high is not None:
            continue
        # a size of the problem is a weaker bound than a fixed number
        for extent, text in sorted(
            extents.items(), key=lambda item: _strength(item[0])
        ):
            yield Condition(
                f"0 <= {buffer}[:] < {text}",
                buffer=buffer,
                low=ZERO,
                high=_minus_one(extent),
            )


def _strength(extent: Term) -> tuple[int, int]:
    """Return a key by which weak bounds come first: names, forms, large numbers."""
    if extent.kind == "const":
        return 2, -extent.args[0]
    return int(extent.kind != "symbol"), 0


def _minus_one(term: Term) -> Term:
    from verify.symbolic.terms import add

    return add(term, constant(-1))


def failing(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that are not proved."""
    return [f for f in findings if isinstance(f.verdict, Refuted | Unknown)]


def spelled(conditions: Sequence[Condition]) -> str:
    """Return conditions as one text."""
    return " and ".join(dict.fromkeys(c.text for c in conditions))


def is_possible(setting: Setting) -> bool:
    """Whether some launch still stores something."""
    return any(
        setting.ask((setting.reach(access),)) is not False
        for access in setting.program.accesses
        if access.kind != LOAD
    )
