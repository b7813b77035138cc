"""Read the text of a module: TTIR or TTGIR as Triton 3.6 to 3.9 print it.

One reader for all operations. It knows where an operation ends (the end of its line,
outside brackets), what a region is, and nothing about what an operation means: operands
are the ``%values``, words the bare words, types what follows a colon or an arrow.
"""

from typing import Any

from .attributes import read_bare_value, read_dictionary, read_value
from .cursor import Cursor
from .locations import Location
from .read_types import read_type, read_types, starts_type
from .syntax import Argument, Block, Function, Module, Operation, Region, Successor
from .tokens import complaint
from .types import FunctionType, Type

_FUNCTIONS = ("tt.func", "func.func")


def read_module(text: str) -> Module:
    r"""Read a module, with the aliases before and after it.

    Args:
        text: MLIR text. Functions outside a ``module`` are read too.

    Raises:
        ParseError: the text is malformed, has no function, or defines one twice; names
            line, column, the operation that was being read, what was expected and
            what came.

    Example:
        >>> text = "tt.func public @f(%n: i32) {\n  tt.return\n}"
        >>> read_module(text).functions["f"].arguments[0].name
        '%n'

    Source: MLIR language reference; the assembly formats of Triton's dialects.
    """
    cursor = Cursor(text)
    parts = _Parts()
    while cursor.peek().kind != "end":
        token = cursor.peek()
        if token.kind == "newline":
            cursor.take()
        elif token.kind == "hash":
            _alias(cursor, parts)
        elif token.text == "module":
            _module(cursor, parts)
        elif token.text in _FUNCTIONS:
            _function(cursor, parts)
        else:
            raise cursor.wrong("'module', 'tt.func' or an alias '#name = ...'")
    if not parts.functions:
        raise complaint(cursor.peek(), "at least one tt.func", "module")
    return Module(parts.functions, parts.attributes, parts.aliases, parts.locations)


class _Parts:
    """What has been read so far."""

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self.attributes: dict[str, Any] = {}
        self.aliases: dict[str, str] = {}
        self.locations: dict[str, Location] = {}


def _alias(cursor: Cursor, parts: _Parts) -> None:
    token = cursor.take()
    cursor.construct = token.text
    cursor.expect("=")
    if cursor.at("loc"):
        parts.locations[token.text] = _location(cursor)
    else:
        parts.aliases[token.text] = str(read_value(cursor))
    _end_of_line(cursor)


def _module(cursor: Cursor, parts: _Parts) -> None:
    cursor.construct = "module"
    opening = cursor.take()
    if cursor.peek().kind == "symbol":
        cursor.take()
    if cursor.accept("attributes"):
        parts.attributes.update(read_dictionary(cursor))
    cursor.expect("{")
    while True:
        cursor.skip_newlines()
        if cursor.accept("}"):
            break
        if cursor.peek().kind == "end":
            raise complaint(
                cursor.peek(), f"'}}' for the module of line {opening.line}", "module"
            )
        if cursor.peek().text in _FUNCTIONS:
            _function(cursor, parts)
        elif cursor.peek().kind == "hash":
            _alias(cursor, parts)
        else:
            cursor.construct = "module"
            raise cursor.wrong("'tt.func' or '}'")
    _trailing_location(cursor)
    _end_of_line(cursor)


def _function(cursor: Cursor, parts: _Parts) -> None:
    first = cursor.take()
    public = True
    while cursor.peek().kind == "word":
        public = cursor.take().text != "private"
    symbol = cursor.expect_kind("symbol", "the name of the function, @name")
    name = symbol.text[1:].strip('"')
    cursor.construct = f"{first.text} @{name}"
    arguments = _arguments(cursor)
    results: tuple[Type, ...] = ()
    if cursor.accept("->"):
        results = read_types(cursor)
    attributes: dict[str, Any] = {}
    if cursor.accept("attributes"):
        attributes = read_dictionary(cursor)
    body = Region(())
    if cursor.at("{"):
        body = _region(cursor)
    cursor.construct = f"{first.text} @{name}"
    _trailing_location(cursor)
    _end_of_line(cursor)
    if name in parts.functions:
        raise complaint(symbol, "each function once", cursor.construct)
    parts.functions[name] = Function(
        name, arguments, results, body, public, attributes, first.line
    )


def _arguments(cursor: Cursor) -> tuple[Argument, ...]:
    cursor.expect("(")
    found: list[Argument] = []
    while True:
        cursor.skip_newlines()
        if cursor.accept(")"):
            return tuple(found)
        if found:
            cursor.expect(",")
            cursor.skip_newlines()
        name = cursor.expect_kind("value", "an argument %name: type").text
        cursor.expect(":")
        kind = read_type(cursor)
        attributes = read_dictionary(cursor) if cursor.at("{") else {}
        found.append(Argument(name, kind, attributes, _trailing_location(cursor)))


def _region(cursor: Cursor) -> Region:
    opening = cursor.expect("{")
    blocks: list[Block] = []
    label = ""
    arguments: tuple[Argument, ...] = ()
    operations: list[Operation] = []
    with cursor.deeper():
        while True:
            cursor.skip_newlines()
            token = cursor.peek()
            if token.kind == "end":
                expected = f"'}}' for the region of line {opening.line}"
                raise complaint(token, expected, cursor.construct)
            if token.text == "}":
                cursor.take()
                blocks.append(Block(label, arguments, tuple(operations)))
                return Region(tuple(blocks))
            if token.kind == "block":
                if operations or label:
                    blocks.append(Block(label, arguments, tuple(operations)))
                cursor.take()
                cursor.construct = f"block {token.text}"
                label = token.text
                arguments = _arguments(cursor) if cursor.at("(") else ()
                cursor.expect(":")
                operations = []
                continue
            operations.append(_operation(cursor))


class _Pieces:
    """The parts of the operation that is being read."""

    def __init__(self) -> None:
        self.operands: list[str] = []
        self.words: list[str] = []
        self.bindings: list[tuple[str, str]] = []
        self.types: list[Type] = []
        self.result_types: list[Type] = []
        self.attributes: dict[str, Any] = {}
        self.regions: list[Region] = []
        self.successors: list[Successor] = []
        self.location = Location()


def _operation(cursor: Cursor) -> Operation:
    first = cursor.peek()
    results = _results(cursor) if first.kind == "value" else ()
    token = cursor.take()
    if token.kind not in ("word", "string") or "." not in token.text:
        raise complaint(token, "the name of an operation", "the body of a function")
    name = token.text.strip('"')
    cursor.construct = name
    pieces = _Pieces()
    if name == "arith.constant":
        _constant(cursor, pieces)
    depth = 0
    while True:
        token = cursor.peek()
        if token.kind == "end" or (token.kind == "newline" and depth == 0):
            break
        if token.kind == "newline":
            cursor.take()
        elif token.text == "}":
            if depth:
                raise cursor.wrong("')' before '}'")
            break
        else:
            depth += _piece(cursor, pieces, name)
    if depth:
        raise cursor.wrong("')'")
    return Operation(
        name,
        results,
        tuple(pieces.operands),
        pieces.attributes,
        tuple(pieces.words),
        tuple(pieces.bindings),
        tuple(pieces.types),
        tuple(pieces.result_types),
        tuple(pieces.regions),
        tuple(pieces.successors),
        first.line,
        pieces.location,
    )


def _results(cursor: Cursor) -> tuple[str, ...]:
    names: list[str] = []
    while True:
        name = cursor.expect_kind("value", "the name of a result").text
        if cursor.accept(":"):
            count = int(cursor.expect_kind("number", "a number of results").text)
            names += [f"{name}#{index}" for index in range(count)]
        else:
            names.append(name)
        if not cursor.accept(","):
            break
    cursor.construct = f"the definition of {names[0] if names else '%'}"
    cursor.expect("=")
    return tuple(names)


def _constant(cursor: Cursor, pieces: _Pieces) -> None:
    if cursor.at("{"):
        pieces.attributes.update(read_dictionary(cursor))
    start = cursor.index
    value = read_value(cursor)
    pieces.attributes["value"] = value
    # the type stands after the value
    end = cursor.index
    cursor.index = start
    while cursor.index < end and not cursor.at(":"):
        cursor.take()
    if cursor.index < end:
        cursor.take()
        pieces.types.append(read_type(cursor))
    cursor.index = end


def _piece(cursor: Cursor, pieces: _Pieces, name: str) -> int:
    """Read the next piece of an operation; return by how much brackets deepen."""
    token = cursor.peek()
    text = token.text
    if token.kind == "value":
        _operand(cursor, pieces)
    elif text == "loc" and cursor.peek(1).text == "(":
        pieces.location = _location(cursor)
    elif text in (":", "->"):
        _typed(cursor, pieces)
    elif text == "{":
        if cursor.peek(1).kind in ("newline", "block"):
            outer = cursor.construct
            pieces.regions.append(_region(cursor))
            cursor.construct = outer
        else:
            pieces.attributes.update(read_dictionary(cursor))
    elif text == "<" and cursor.peek(1).text == "{":
        cursor.take()
        pieces.attributes.update(read_dictionary(cursor))
        cursor.expect(">")
    elif token.kind == "block":
        pieces.successors.append(_successor(cursor))
    elif text in ("(", "["):
        cursor.take()
        return 1
    elif text in (")", "]"):
        cursor.take()
        return -1
    elif token.kind in ("word", "string", "symbol", "number", "hash", "dims"):
        cursor.take()
        if (
            token.kind == "word"
            and cursor.at("=")
            and cursor.peek(1).kind not in ("value", "newline")
        ):
            cursor.take()
            # the type after it is the operation's, not the attribute's
            pieces.attributes[text] = read_bare_value(cursor)
        elif token.kind == "word" and cursor.at("<"):
            pieces.words.append(text + cursor.raw("<", ">"))
        else:
            pieces.words.append(text[1:-1] if token.kind == "string" else text)
    elif text in (",", "=", "*", "|", "-", "?", "+", "<", ">"):
        cursor.take()
    else:
        raise cursor.wrong(f"a part of {name}")
    return 0


def _operand(cursor: Cursor, pieces: _Pieces) -> None:
    name = cursor.take().text
    if cursor.at("=") and cursor.peek(1).kind == "value":
        cursor.take()
        value = cursor.take().text
        pieces.bindings.append((name, value))
        pieces.operands.append(value)
    else:
        pieces.operands.append(name)


def _typed(cursor: Cursor, pieces: _Pieces) -> None:
    into_results = cursor.take().text == "->"
    while True:
        if not (cursor.at("(") or starts_type(cursor)):
            if cursor.peek().kind == "value" and not into_results:
                return  # tt.print has values between two colons
            raise cursor.wrong("a type")
        found = read_types(cursor)
        for kind in found:
            if isinstance(kind, FunctionType) and not into_results:
                pieces.types += kind.inputs
                pieces.result_types += kind.results
            else:
                (pieces.result_types if into_results else pieces.types).append(kind)
        if cursor.at("->") or cursor.at("to"):
            cursor.take()
            into_results = True
        elif cursor.at(",") or cursor.at("*"):
            cursor.take()
        else:
            return


def _successor(cursor: Cursor) -> Successor:
    block = cursor.take().text
    operands: list[str] = []
    if cursor.accept("("):
        while not cursor.accept(")"):
            token = cursor.take()
            if token.kind in ("end", "newline"):
                raise complaint(token, "')'", cursor.construct)
            if token.kind == "value":
                operands.append(token.text)
            elif token.text == ":":
                while not cursor.at(")"):
                    read_type(cursor)
                    cursor.accept(",")
    return Successor(block, tuple(operands))


def _trailing_location(cursor: Cursor) -> Location:
    if cursor.at("loc") and cursor.peek(1).text == "(":
        return _location(cursor)
    return Location()


def _location(cursor: Cursor) -> Location:
    cursor.expect("loc")
    cursor.expect("(")
    found = _place(cursor)
    cursor.expect(")")
    return found


def _place(cursor: Cursor) -> Location:
    token = cursor.take()
    with cursor.deeper():
        if token.kind == "hash":
            return Location("alias", token.text)
        if token.text == "unknown":
            return Location()
        if token.text == "callsite":
            cursor.expect("(")
            callee = _place(cursor)
            cursor.expect("at")
            caller = _place(cursor)
            cursor.expect(")")
            return Location("callsite", inner=(callee, caller))
        if token.text == "fused":
            if cursor.at("<"):
                cursor.raw("<", ">")
            cursor.expect("[")
            places = [_place(cursor)]
            while cursor.accept(","):
                places.append(_place(cursor))
            cursor.expect("]")
            return Location("fused", inner=tuple(places))
        if token.kind == "string":
            return _quoted(cursor, token.text[1:-1])
    raise complaint(token, "a location", "loc")


def _quoted(cursor: Cursor, name: str) -> Location:
    if cursor.accept("("):
        inner = _place(cursor)
        cursor.expect(")")
        return Location("name", name, inner=(inner,))
    if not cursor.accept(":"):
        return Location("name", name)
    line = int(cursor.expect_kind("number", "a line").text)
    column = 0
    if cursor.accept(":"):
        column = int(cursor.expect_kind("number", "a column").text)
    while cursor.at("to") or cursor.at(":") or cursor.peek().kind == "number":
        cursor.take()
    return Location("file", name, line, column)


def _end_of_line(cursor: Cursor) -> None:
    if cursor.peek().kind not in ("newline", "end"):
        raise cursor.wrong("the end of the line")
