"""Reader of PTX text: one kernel as a list of instructions with their operands.

What has no effect on values (directives, debug sections, comments) is skipped;
everything else between the braces of the entry becomes an ``Instruction`` or a label.
Registers declared in an inner scope, as inline assembly does, get a name of their own.
"""

import re

from algebra.errors import ParseError

from .syntax import (
    Address,
    Immediate,
    Instruction,
    Kernel,
    Label,
    Operand,
    Pair,
    Register,
    Symbol,
    Unread,
    Vector,
)

_ENTRY = re.compile(r"\.entry\s+([\w$.]+)\s*(?:\(([^)]*)\))?([^{;]*)\{", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_SHARED = re.compile(
    r"\.shared\s+(?:\.align\s+(\d+)\s+)?\.([bsuf]\d+)\s+([\w$%.]+)\s*"
    r"(?:(\[)\s*(\d*)\s*\])?"
)
_PARAMETER = re.compile(r"\.param\s+\.(\w+)(.*?)([\w$%.]+)\s*$", re.DOTALL)
_THREADS = re.compile(r"\.reqntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
_DECLARED = re.compile(r"\.reg\s+\.(\w+)\s+(.*)$", re.DOTALL)
_FAMILY = re.compile(r"([%\w$.]+?)<(\d+)>$")
_REMARK = re.compile(r"\.(loc|file|pragma)\b")
_GUARD = re.compile(r"@(!?)([%\w$.]+)\s+")
_LABEL = re.compile(r"\s*([\w$]+)\s*:(?!:)")
_NUMBER = re.compile(r"-?(0[xX][0-9a-fA-F]+|\d+)U?$")
_ADDRESS = re.compile(r"([%\w$.]+|-?\d+)(?:\s*\+\s*(-?(?:0[xX])?[0-9a-fA-F]+))?\s*$")
_FLOAT = re.compile(r"0[fF]([0-9a-fA-F]{8})$|0[dD]([0-9a-fA-F]{16})$")


def parse(text: str) -> Kernel:
    """Return the first entry function of a PTX module.

    Args:
        text: A PTX module, as a compiler prints it.

    Raises:
        ParseError: there is no entry, or a statement is not PTX; names the line.

    Example:
        >>> kernel = parse('''
        ... .visible .entry copy(.param .u64 a) .reqntid 32 {
        ...   .reg .b32 %r<2>;
        ...   mov.u32 %r1, %tid.x;
        ...   ret;
        ... }''')
        >>> kernel.threads, [i.opcode for i in kernel.body]
        (32, ['mov.u32', 'ret'])

    Source: PTX ISA, chapters "Syntax" and "State Spaces, Types, and Variables".
    """
    plain = _COMMENT.sub(_blank, text)
    entry = _ENTRY.search(plain)
    if entry is None:
        raise _error("an entry function", plain[:40].strip(), 1, "print it with .entry")
    threads = _THREADS.search(entry[3])
    count = None
    if threads:
        count = 1
        for size in threads.groups(default="1"):
            count *= int(size)
    head = plain[: entry.start()]
    reader = _Body(plain, entry.end())
    reader.read()
    variables = {
        **_variables(head),
        **_variables(";".join(reader.shared)),
    }
    return Kernel(
        entry[1],
        tuple(_parameters(entry[2] or "")),
        count,
        reader.registers,
        variables,
        tuple(reader.body),
    )


def _blank(comment: re.Match[str]) -> str:
    return "\n" * comment[0].count("\n")


def _error(needed: str, got: str, line: int, way: str) -> ParseError:
    return ParseError(
        f"line {line}: needed {needed}, got text={got!r}; {way}", line=line, column=0
    )


def _parameters(text: str) -> list[tuple[str, str]]:
    found = []
    for part in filter(str.strip, text.split(",")):
        match = _PARAMETER.search(part)
        if match is None:
            raise _error("a parameter", part.strip(), 1, "write .param .type name")
        found.append((match[3], match[1]))
    return found


def _variables(text: str) -> dict[str, tuple[int | None, int]]:
    found: dict[str, tuple[int | None, int]] = {}
    for align, kind, name, bracket, count in _SHARED.findall(text):
        item = int(kind[1:]) // 8
        dynamic = bracket and not count
        size = None if dynamic else int(count or 1) * item
        found[name] = (size, int(align or item))
    return found


class _Body:
    """Cuts the body of an entry into statements."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.place = start
        self.line = text.count("\n", 0, start) + 1
        self.registers: dict[str, int] = {}
        self.shared: list[str] = []
        self.body: list[Instruction | Label] = []
        self.scopes: list[dict[str, str]] = [{}]
        self.opened = 0

    def read(self) -> None:
        """Read up to the brace that closes the entry."""
        text, depth = self.text, 1
        while True:
            self._skip_space()
            if self.place >= len(text):
                raise _error("a closing brace", "", self.line, "print the whole entry")
            if text[self.place] == "{":
                self.place += 1
                depth += 1
                self.scopes.append({})
                self.opened += 1
                continue
            if text[self.place] == "}":
                self.place += 1
                depth -= 1
                if not depth:
                    return
                self.scopes.pop()
                continue
            if _REMARK.match(text, self.place):
                end = text.find("\n", self.place)
                self.place = len(text) if end < 0 else end
                continue
            label = _LABEL.match(text, self.place)
            if label:
                self.body.append(Label(self.line, label[1]))
                self.place = label.end()
                continue
            end = text.find(";", self.place)
            if end < 0:
                raise _error(
                    "a semicolon", text[self.place :][:40], self.line, "end it"
                )
            line = self.line
            statement = text[self.place : end]
            self.line += statement.count("\n")
            self.place = end + 1
            self._statement(" ".join(statement.split()), line)

    def _skip_space(self) -> None:
        text, place = self.text, self.place
        while place < len(text) and text[place] in " \t\r\n;":
            self.line += text[place] == "\n"
            place += 1
        self.place = place

    def _statement(self, text: str, line: int) -> None:
        if text.startswith(".reg"):
            self._declare(text, line)
        elif ".shared" in text and text.startswith("."):
            self.shared.append(text)
        elif text.startswith("."):
            # a directive with a meaning that is not modelled
            opcode = text.partition(" ")[0]
            self.body.append(Instruction(line, text, None, opcode, ()))
        else:
            self.body.append(self._instruction(text, line))

    def _declare(self, text: str, line: int) -> None:
        match = _DECLARED.match(text)
        if match is None:
            raise _error("a declaration", text, line, "write .reg .type name")
        bits = 1 if match[1] == "pred" else int(match[1][1:])
        for name in match[2].split(","):
            family = _FAMILY.match(name.strip())
            plain = family[1] if family else name.strip()
            own = plain
            if len(self.scopes) > 1:
                own = f"{plain}@{self.opened}:"
                self.scopes[-1][plain] = own
            self.registers[own] = bits

    def _instruction(self, text: str, line: int) -> Instruction:
        guard = None
        rest = text
        match = _GUARD.match(text)
        if match:
            guard = self._register(match[2], match[1] == "!")
            rest = text[match.end() :]
        opcode, _, tail = rest.partition(" ")
        if "{" in opcode or "[" in opcode:
            raise _error("an opcode", rest, line, "put a space after the opcode")
        try:
            operands = tuple(self._operand(part) for part in _split(tail))
        except ValueError as error:
            raise _error("operands", text, line, str(error)) from None
        return Instruction(line, text, guard, opcode, operands)

    def _register(self, name: str, negated: bool = False) -> Register:
        for scope in reversed(self.scopes[1:]):
            if name in scope:
                return Register(scope[name], negated)
            family = name.rstrip("0123456789")
            if family in scope:
                return Register(scope[family] + name[len(family) :], negated)
        return Register(name, negated)

    def _operand(self, text: str) -> Operand:
        first = text[0]
        if first == "[":
            if text[-1] != "]":
                raise ValueError(f"{text} is no address")
            match = _ADDRESS.match(text[1:-1].strip())
            base = self._operand(match[1]) if match else None
            if match is None or not isinstance(base, Register | Symbol | Immediate):
                return Unread(text)
            return Address(base, int(match[2] or "0", 0))
        if first == "{":
            if text[-1] != "}":
                raise ValueError(f"{text} is no vector")
            items = [self._operand(part) for part in _split(text[1:-1])]
            if not all(isinstance(i, Register | Immediate | None) for i in items):
                return Unread(text)
            return Vector(tuple(items))  # type: ignore[arg-type]
        if text == "_":
            return None
        if "|" in text:
            pair = [self._operand(part.strip()) for part in text.split("|")]
            if len(pair) != 2 or not all(isinstance(p, Register | None) for p in pair):
                return Unread(text)
            return Pair(*pair)  # type: ignore[arg-type]
        if first == "!":
            return self._register(text[1:].strip(), True)
        if first.isdigit() or first == "-":
            return Immediate(_number(text))
        register = self._register(text)
        known = register.name in self.registers or "@" in register.name
        return register if first == "%" or known else Symbol(text)


def _number(text: str) -> int:
    float_bits = _FLOAT.match(text)
    if float_bits:
        return int(float_bits[1] or float_bits[2], 16)
    if not _NUMBER.match(text):
        raise ValueError(f"{text} is no number")
    digits = text.rstrip("U")
    if len(digits.lstrip("-")) > 1 and digits.lstrip("-")[0] == "0":
        return int(digits, 16 if "x" in digits.lower() else 8)
    return int(digits)


def _split(text: str) -> list[str]:
    """Cut at the commas outside brackets."""
    parts: list[str] = []
    depth, start = 0, 0
    for i, char in enumerate(text):
        if char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
        elif char == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    if text[start:].strip():
        parts.append(text[start:].strip())
    if "" in parts:
        raise ValueError("an operand is empty")
    return parts
