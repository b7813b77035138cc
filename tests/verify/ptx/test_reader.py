import pytest

from algebra import ParseError
from verify.ptx.reader import parse
from verify.ptx.syntax import (
    Address,
    Immediate,
    Instruction,
    Label,
    Operand,
    Pair,
    Register,
    Symbol,
    Unread,
    Vector,
)

HEAD = ".entry k(.param .u64 a) { .reg .b32 %r<9>; .reg .pred %p<3>;\n"


def one(text: str) -> Instruction:
    (found,) = parse(HEAD + text + "}").body
    assert isinstance(found, Instruction)
    return found


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("%r1", Register("%r1")),
        ("!%p1", Register("%p1", negated=True)),
        ("12", Immediate(12)),
        ("-1", Immediate(-1)),
        ("0x7772U", Immediate(0x7772)),
        ("010", Immediate(8)),
        ("0", Immediate(0)),
        ("0f3F800000", Immediate(0x3F800000)),
        ("0dBFF0000000000000", Immediate(0xBFF0000000000000)),
        ("smem", Symbol("smem")),
        ("[%r1]", Address(Register("%r1"), 0)),
        ("[ %r1 + 0 ]", Address(Register("%r1"), 0)),
        ("[%r1+-16]", Address(Register("%r1"), -16)),
        ("[smem+0x10]", Address(Symbol("smem"), 16)),
        ("{ %r1, 2, _ }", Vector((Register("%r1"), Immediate(2), None))),
        ("%r1|%p1", Pair(Register("%r1"), Register("%p1"))),
        ("_", None),
        ("[%r1*2]", Unread("[%r1*2]")),
        ("[%r1, {%r2}]", Unread("[%r1, {%r2}]")),
        ("{[%r1]}", Unread("{[%r1]}")),
        ("%r1|%p1|%p2", Unread("%r1|%p1|%p2")),
    ],
)
def test_operands(text: str, operand: Operand) -> None:
    assert one(f"op.b32 {text};").operands == (operand,)


def test_guards() -> None:
    assert one("@%p1 op %r1;").guard == Register("%p1")
    assert one("@!%p1 op %r1;").guard == Register("%p1", negated=True)


def test_lines_and_comments() -> None:
    text = "// one\n/* two\n three */ a.b32 %r1; b.b32 %r2,\n  %r3; // four\nc;"
    body = parse(HEAD + text + "}").body
    found = [(i.line, i.text) for i in body if isinstance(i, Instruction)]
    assert found == [(4, "a.b32 %r1"), (4, "b.b32 %r2, %r3"), (6, "c")]


def test_labels_and_directives() -> None:
    body = parse(HEAD + "$L__func_begin0:\n.loc 1 2 3\nTWO: ret;}").body
    assert [type(item) for item in body] == [Label, Label, Instruction]
    assert body[1] == Label(4, "TWO")


def test_directives_with_a_meaning_are_kept() -> None:
    found = one(".local .align 4 .b8 depot[16];")
    assert (found.opcode, found.line) == (".local", 2)


def test_names_of_an_inner_scope() -> None:
    kernel = parse(HEAD + "{ .reg .b32 x; op x, %r1; } { .reg .b16 x; op x; }}")
    first, second = (i for i in kernel.body if isinstance(i, Instruction))
    assert first.operands[1] == Register("%r1")
    names = [first.operands[0], second.operands[0]]
    widths = [kernel.width(name.name) for name in names if isinstance(name, Register)]
    assert names[0] != names[1]
    assert widths == [32, 16]


def test_declarations() -> None:
    kernel = parse(
        ".extern .shared .align 16 .b8 smem[];\n.shared .b32 x[4];\n"
        ".entry k(.param .u64 .ptr .global .align 1 a, .param .u32 b)\n"
        ".reqntid 32, 4\n{ .reg .b64 %rd<2>, y; .shared .align 8 .f64 one; ret; }"
    )
    assert kernel.parameters == (("a", "u64"), ("b", "u32"))
    assert kernel.threads == 128
    assert kernel.width("%rd1") == kernel.width("y") == 64
    assert kernel.variables == {"smem": (None, 16), "x": (16, 4), "one": (8, 8)}


def test_what_follows_the_kernel_is_not_read() -> None:
    assert len(parse(HEAD + "ret; }\n.section .debug { .b8 1 }").body) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an entry function"),
        (HEAD + "ret;", "a closing brace"),
        (HEAD + "ret }", "a semicolon"),
        (HEAD + "op %r1, , %r2;}", "an operand is empty"),
        (HEAD + "op 12z;}", "is no number"),
        (HEAD + "op{%r1};}", "a space after the opcode"),
        (".entry k(nonsense) { ret; }", "a parameter"),
        (HEAD + ".reg %r;}", "a declaration"),
    ],
)
def test_what_is_no_ptx(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(text)
