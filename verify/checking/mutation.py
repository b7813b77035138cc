"""Faults in the text of a kernel: each is a small edit of one operation.

What people get wrong: a mask that is missing, ``<=`` for ``<``, two strides swapped, an
offset that is off by one, a block size that is not the one of the grid, a default that
is not the neutral element, another axis of the grid.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_OP = re.compile(r"^(\s*)(?:(%[\w#]+) = )?\"?([\w.]+)\"?(.*)$")


@dataclass(frozen=True, slots=True)
class Mutation:
    """An edit.

    Attributes:
        kind: What people would call it.
        line: Line of the text, from 1.
        text: The edited text.
    """

    kind: str
    line: int
    text: str


def _drop_mask(name: str, rest: str) -> Iterator[str]:
    if name not in ("tt.load", "tt.store"):
        return
    body, colon, types = rest.partition(" : ")
    operands = re.findall(r"%[\w#]+", body)
    keep = 1 if name == "tt.load" else 2
    if len(operands) > keep:
        yield f" {', '.join(operands[:keep])}{colon}{types}"


def _compare(name: str, rest: str) -> Iterator[str]:
    if name == "arith.cmpi":
        for old, new in (
            ("slt", "sle"),
            ("sle", "slt"),
            ("sgt", "sge"),
            ("sge", "sgt"),
        ):
            if rest.startswith(f" {old},"):
                yield rest.replace(old, new, 1)


def _shift_range(name: str, rest: str) -> Iterator[str]:
    if name == "tt.make_range":
        found = re.search(r"end = (\d+) : i32, start = (\d+)", rest)
        if found:
            end, start = int(found[1]) + 1, int(found[2]) + 1
            yield rest.replace(found[0], f"end = {end} : i32, start = {start}")


def _axis(name: str, rest: str) -> Iterator[str]:
    if name == "tt.get_program_id":
        for old, new in ((" x ", " y "), (" y ", " x "), (" z ", " x ")):
            if rest.startswith(old):
                yield rest.replace(old, new, 1)


def _arithmetic(name: str, rest: str) -> Iterator[str]:
    swaps = {"arith.muli": "arith.addi", "arith.addi": "arith.subi"}
    if name in swaps:
        yield f"\0{swaps[name]}\0{rest}"


def _block_constant(name: str, rest: str) -> Iterator[str]:
    found = re.match(r" (\d+) : (i32|i64)(.*)$", rest)
    if name == "arith.constant" and found and int(found[1]) > 1:
        value = int(found[1])
        yield f" {value // 2} : {found[2]}{found[3]}"
        yield f" {value + 1} : {found[2]}{found[3]}"


def _neutral(name: str, rest: str) -> Iterator[str]:
    if name != "arith.constant":
        return
    for old, new in (
        ("0.000000e+00", "1.000000e+00"),
        ("1.000000e+00", "2.000000e+00"),
        ("0xFF800000", "0.000000e+00"),
    ):
        if old in rest:
            yield rest.replace(old, new, 1)


def _value(name: str, rest: str) -> Iterator[str]:
    swaps = {
        "arith.addf": "arith.subf",
        "arith.mulf": "arith.addf",
        "arith.maxnumf": "arith.minnumf",
        "arith.subf": "arith.addf",
        "arith.divf": "arith.mulf",
    }
    if name in swaps:
        yield f"\0{swaps[name]}\0{rest}"


EDITS: dict[str, Callable[[str, str], Iterator[str]]] = {
    "mask dropped": _drop_mask,
    "comparison off by one": _compare,
    "range shifted by one": _shift_range,
    "another axis of the grid": _axis,
    "product or sum replaced": _arithmetic,
    "block size changed": _block_constant,
    "neutral element changed": _neutral,
    "operation on values replaced": _value,
}
"""Kind -> edits of an operation, from its name and the rest of its line."""


def mutations(text: str) -> Iterator[Mutation]:
    """Yield every edit of a kernel's text, kind by kind.

    Args:
        text: TTIR.

    Example:
        >>> [m.kind for m in mutations("  %0 = arith.cmpi slt, %a, %b : i32")]
        ['comparison off by one']
    """
    lines = text.split("\n")
    for kind, edit in EDITS.items():
        for number, line in enumerate(lines):
            if line.startswith("#"):
                continue
            match = _OP.match(line)
            if match is None:
                continue
            indent, result, name, rest = match.groups()
            quoted = f'"{name}"' if f'"{name}"' in line else name
            for new in edit(name, rest):
                written, tail = quoted, new
                if new.startswith("\0"):
                    _, written, tail = new.split("\0")
                head = f"{indent}{result} = " if result else indent
                edited = [
                    *lines[:number],
                    f"{head}{written}{tail}",
                    *lines[number + 1 :],
                ]
                yield Mutation(kind, number + 1, "\n".join(edited))
    yield from _swapped_scalars(lines)


def _swapped_scalars(lines: list[str]) -> Iterator[Mutation]:
    """Yield the texts in which a product or sum takes another integer parameter."""
    scalars: list[tuple[str, str]] = []
    for line in lines:
        if "tt.func" in line:
            scalars = re.findall(r"%(\w+): (i32|i64)", line)
    for number, line in enumerate(lines):
        if " = arith.muli " not in line and " = tt.splat " not in line:
            continue
        for name, kind in scalars:
            if not re.search(rf"%{name}\b", line):
                continue
            for other, other_kind in scalars:
                if other != name and other_kind == kind:
                    edited = re.sub(rf"%{name}\b", f"%{other}", line, count=1)
                    texts = [*lines[:number], edited, *lines[number + 1 :]]
                    yield Mutation("sizes swapped", number + 1, "\n".join(texts))
                    break
