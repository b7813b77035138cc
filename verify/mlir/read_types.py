"""Read types; see ``types``."""

from .cursor import Cursor
from .types import (
    FunctionType,
    OtherType,
    PointerType,
    ScalarType,
    TensorType,
    Type,
)


def starts_type(cursor: Cursor) -> bool:
    """Whether a type, or a list of types in parentheses, may start here."""
    token = cursor.peek()
    if token.kind == "type":
        return True
    if token.text == "<":
        return cursor.peek(1).text != "{"
    return token.kind == "word" and (
        token.text in ("tensor", "vector", "memref", "index", "none", "tuple")
        or (token.text[0] in "isubft" and ScalarType(token.text).bits > 0)
    )


def read_type(cursor: Cursor) -> Type:
    """Read one type.

    Raises:
        ParseError: none starts here, or it is cut off; names line and construct.
    """
    with cursor.deeper():
        token = cursor.peek()
        if token.text == "(":
            inputs = read_types(cursor)
            cursor.expect("->")
            return FunctionType(inputs, read_types(cursor))
        if token.text == "tensor":
            cursor.take()
            return _tensor(cursor)
        if token.text == "<" and cursor.peek(1).kind == "dims":
            return _memory(cursor)  # where only a memdesc may stand
        if token.text in ("!tt.ptr", "!ptr", "<"):
            # where only a pointer may stand, printers leave its name out
            if token.text != "<":
                cursor.take()
            cursor.expect("<")
            pointee = read_type(cursor)
            space = 1
            if cursor.accept(","):
                space = int(cursor.expect_kind("number", "an address space").text)
            cursor.expect(">")
            return PointerType(pointee, space)
        if token.kind == "type":
            return _other(cursor)
        if token.kind == "word":
            name = cursor.take().text
            if cursor.at("<"):
                return OtherType(name, name + cursor.raw("<", ">"))
            return ScalarType(name)
        raise cursor.wrong("a type")


def read_types(cursor: Cursor) -> tuple[Type, ...]:
    """Read one type, or a list of types in parentheses."""
    if not cursor.at("("):
        return (read_type(cursor),)
    cursor.take()
    found: list[Type] = []
    while not cursor.at(")"):
        if found:
            cursor.expect(",")
        found.append(read_type(cursor))
    cursor.take()
    if cursor.at("->"):
        cursor.take()
        return (FunctionType(tuple(found), read_types(cursor)),)
    return tuple(found)


def _tensor(cursor: Cursor) -> TensorType:
    cursor.expect("<")
    shape, element = _shaped(cursor)
    encoding = ""
    if cursor.accept(","):
        encoding = _attribute_text(cursor)
    cursor.expect(">")
    return TensorType(shape, element, encoding)


def _shaped(cursor: Cursor) -> tuple[tuple[int, ...], Type]:
    shape: tuple[int, ...] = ()
    if cursor.peek().kind == "dims":
        sizes = cursor.take().text.rstrip("x").split("x")
        if "?" in sizes:
            raise cursor.wrong("static sizes: Triton's tensors have no other")
        shape = tuple(map(int, sizes))
    return shape, read_type(cursor)


def _attribute_text(cursor: Cursor) -> str:
    token = cursor.take()
    if token.kind != "hash":
        return token.text
    return token.text + (cursor.raw("<", ">") if cursor.at("<") else "")


def _other(cursor: Cursor) -> Type:
    name = cursor.take().text
    if not cursor.at("<"):
        return OtherType(name, name)
    if name.endswith(".memdesc"):
        return _memory(cursor)
    start = cursor.index
    cursor.take()
    inner = None
    if starts_type(cursor):
        inner = read_type(cursor)
    elif cursor.peek().kind == "dims":
        inner = TensorType(*_shaped(cursor))
    cursor.index = start
    return OtherType(name, name + cursor.raw("<", ">"), inner)


def _memory(cursor: Cursor) -> TensorType:
    """Read what follows the name of a ``memdesc``."""
    cursor.expect("<")
    shape, element = _shaped(cursor)
    parts = []
    while cursor.accept(","):
        if cursor.peek().kind == "dims":
            cursor.take()
            parts.append(cursor.take().text)
        else:
            parts.append(_attribute_text(cursor))
            while cursor.peek().text not in (",", ">"):
                parts[-1] += cursor.take().text
    cursor.expect(">")
    return TensorType(shape, element, parts[0] if parts else "", " ".join(parts[1:]))
