"""Faults put into PTX text, one at a time: what a prover must find.

Each is a small change of one or two instructions of one kind. A change may happen to
be harmless (a barrier after the last access, a lane that is not read), so a mutant is
not always wrong; but one that is Proved computes the identity all the same.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

Rewrite = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed text.

    Attributes:
        fault: Name of the kind of fault, a key of ``FAULTS``.
        line: Line of the change, counted from 1.
        before: The instruction as it was.
        text: The whole text with the change.
    """

    fault: str
    line: int
    before: str
    text: str


def mutants(text: str, fault: str | None = None) -> Iterator[Mutant]:
    r"""Yield the mutants of a kernel.

    Args:
        text: PTX module.
        fault: Only this kind of fault; default all.

    Example:
        >>> [m.fault for m in mutants("  bar.sync 0;\n  ret;\n")]
        ['missing barrier']
    """
    lines = text.split("\n")
    for name, (pattern, rewrite) in FAULTS.items():
        if fault not in (None, name):
            continue
        places = [i for i, line in enumerate(lines) if re.match(r"\s*" + pattern, line)]
        for i in places:
            changed = rewrite(lines[i])
            if changed != lines[i]:
                found = [*lines[:i], changed, *lines[i + 1 :]]
                yield Mutant(name, i + 1, lines[i].strip(), "\n".join(found))
    for name, (pattern, part) in EXCHANGES.items():
        if fault in (None, name):
            yield from _exchanges(name, lines, pattern, part)


def _exchanges(
    name: str, lines: list[str], pattern: str, part: str
) -> Iterator[Mutant]:
    """Yield texts in which two neighbouring instructions swap a part."""
    places = [i for i, line in enumerate(lines) if re.match(r"\s*" + pattern, line)]
    for i, j in pairwise(places):
        first, second = re.search(part, lines[i]), re.search(part, lines[j])
        if first is None or second is None or first[1] == second[1]:
            continue
        found = list(lines)
        found[i] = lines[i][: first.start(1)] + second[1] + lines[i][first.end(1) :]
        found[j] = lines[j][: second.start(1)] + first[1] + lines[j][second.end(1) :]
        yield Mutant(name, i + 1, lines[i].strip(), "\n".join(found))


def _drop(line: str) -> str:
    return ""


def _replace(old: str, new: str) -> Rewrite:
    def rewrite(line: str) -> str:
        return re.sub(old, new, line, count=1)

    return rewrite


def _last_constant(change: Callable[[int], int]) -> Rewrite:
    """Change the last integer of an instruction."""

    def rewrite(line: str) -> str:
        match = re.search(
            r"(?<=[ ,+])(-?(?:0x)?[0-9a-fA-F]+)U?(?=\s*[\];,])(?!.*,)", line
        )
        if match is None:
            return line
        value = change(int(match[1], 0))
        return line[: match.start()] + str(value) + line[match.end() :]

    return rewrite


def _swap(first: int, second: int) -> Rewrite:
    """Swap two registers of an instruction, counted from 0."""

    def rewrite(line: str) -> str:
        found = list(re.finditer(r"%\w+", line))
        if len(found) <= max(first, second):
            return line
        a, b = found[first], found[second]
        return (
            line[: a.start()]
            + b[0]
            + line[a.end() : b.start()]
            + a[0]
            + line[b.end() :]
        )

    return rewrite


FAULTS: dict[str, tuple[str, Rewrite]] = {
    "missing barrier": (r"bar\.(warp\.)?sync", _drop),
    "missing shared store": (r"st\.shared|stmatrix", _drop),
    "missing global store": (r"st\.global", _drop),
    "wrong shuffle clamp": (r"shfl\.", _replace(r", 31, -1", ", 15, -1")),
    "wrong shuffle segment": (r"shfl\.", _replace(r", 31, -1", ", 7967, -1")),
    "wrong shuffle members": (r"shfl\.", _replace(r", 31, -1", ", 31, 65535")),
    "wrong shuffle mode": (r"shfl\.", _replace(r"\.(idx|bfly)\.", ".down.")),
    "wrong selector": (r"prmt\.", _last_constant(lambda n: n ^ 1)),
    "wrong choice": (r"selp\.", _swap(1, 2)),
    "wrong shared offset": (r"ld\.shared.*\+\d+\]", _last_constant(lambda n: n + 16)),
    "wrong shift": (r"sh[lr]\.", _last_constant(lambda n: n + 1)),
    "wrong mask": (r"and\.b32", _last_constant(lambda n: n & (n - 1))),
    "wrong xor": (r"xor\.b32", _last_constant(lambda n: n ^ 8)),
    "wrong field": (r"bfe\.", _replace(r", (\d+), (\d+);", r", \g<1>, 0;")),
    "wrong stride": (r"mad\.wide|mul\.wide", _replace(r", (\d+), ", r", 1\g<1>, ")),
    "wrong addend": (r"add\.s(32|64)", _last_constant(lambda n: n + 8)),
    "loaded vector swapped": (r"ld\.(shared|global)[\w:.]*\.v[24]", _swap(0, 1)),
    "stored vector swapped": (r"st\.(shared|global)[\w:.]*\.v[24]", _swap(1, 2)),
    "not transposed": (r"(ld|st)matrix.*\.trans", _replace(r"\.trans", "")),
    "transposed": (
        r"(ld|st)matrix.*x\d\.shared",
        _replace(r"\.shared", ".trans.shared"),
    ),
    "pack swapped": (r"mov\.b(32|64)\s+%\w+, \{", _swap(1, 2)),
    "unpack swapped": (r"mov\.b(32|64)\s+\{%", _swap(0, 1)),
    "guard negated": (r"@%p\d+ ", _replace("@", "@!")),
}
"""Kind of fault -> which lines it can hit, and what it makes of one."""

EXCHANGES: dict[str, tuple[str, str]] = {
    "shared stores swapped": (r"st\.shared|stmatrix", r"\],\s*\{?\s*(%\w+)"),
    "shared loads swapped": (r"ld\.shared|ldmatrix", r"\s\{?(%\w+)"),
    "shuffle sources swapped": (r"shfl\.", r",\s*%\w+,\s*(%\w+)"),
    "shuffled values swapped": (r"shfl\.", r",\s*(%\w+)"),
    "stored values swapped": (r"st\.global", r"\{\s*(%\w+)"),
}
"""Kind of fault -> which lines it can hit, and the part that two of them swap."""
