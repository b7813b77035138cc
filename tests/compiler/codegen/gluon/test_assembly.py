from compiler.codegen.gluon.assembly import Assembly
from compiler.convert.words import Functional, Input, Prmt, Program, Selp, Shfl


def test_what_is_asked_for_twice_is_computed_once() -> None:
    made = Assembly()
    assert made.parity(3) == made.parity(3)
    assert made.lines == [
        "mov.u32 w0, %tid.x;",
        "shr.u32 w1, w0, 1;",
        "xor.b32 w2, w0, w1;",
        "and.b32 w3, w2, 1;",
    ]
    assert made.condition(Functional(3)) == made.condition(Functional(3)) == "p0"
    assert made.quiet(3) == "p1"


def test_bits_that_move_together_take_one_shift() -> None:
    made = Assembly()
    made.linear([2, 4, 8])
    assert made.lines[1:] == ["shl.b32 w1, w0, 1;"]
    made.linear([2, 4, 0])
    assert made.lines[2:] == ["and.b32 w2, w0, 3;", "shl.b32 w3, w2, 1;"]
    rotated = Assembly()
    rotated.linear([2, 4, 1], width=3)
    assert rotated.lines[1:] == [
        "shr.u32 w1, w0, 2;",
        "shl.b32 w2, w0, 1;",
        "xor.b32 w3, w1, w2;",
    ]
    assert Assembly().linear([0, 0]) == "w0"


def test_declarations_come_first() -> None:
    made = Assembly()
    made.condition(Functional(1))
    made.shared_bytes = 64
    lines = made.text().splitlines()
    assert lines[0] == "{" and lines[-1] == "}"
    assert lines[1:4] == [
        "    .reg .b32 w<2>;",
        "    .reg .pred p<1>;",
        "    .shared .align 1024 .b8 tile[1024];",
    ]


def test_programs() -> None:
    made = Assembly()
    nodes = (
        Input(0),
        Shfl(0, (1, 2, 4, 8, 16), 5),
        Shfl(0, (2, 1, 4, 8, 16), 0),
        Selp(1, 2, Functional(4)),
        Prmt(1, 3, 0x5410, ()),
        Prmt(1, 3, 0x5410, ((1, 0x4444),)),
        Prmt(1, 3, 0x5410, ((1, 0x4444), (2, 0x1111))),
    )
    outputs = made.run(Program(5, 1, nodes, (4, 5, 6)), ["$3"])
    text = made.text()
    assert len(set(outputs)) == 3
    assert "shfl.sync.bfly.b32 w0, $3, 5, 0x1f, 0xffffffff;" in text
    assert text.count("shfl.sync.idx.b32") == 1
    assert "selp.b32" in text and text.count("prmt.b32") == 3
    assert "0x1054, 0x5410" in text


def test_values_of_the_thread_may_come_from_outside() -> None:
    made = Assembly(outside=True)
    base = made.linear([2, 4, 0])
    made.add(f"st.shared.b32 [{base}], $0;")
    assert made.given == [base]
    assert made.computed() == ["t0 = thread + 0", "t1 = t0 & 3", "t2 = t1 << 1"]
    assert "mov.b32 t2, $7;" in made.text(7) and "%tid" not in made.text(7)


def test_flips_may_stay_inside() -> None:
    made = Assembly(outside=True, flips_outside=False)
    base = made.linear([2])
    assert made.plus(base, 4) == made.plus(base, 4) == "w0"
    assert made.lines == [f"xor.b32 w0, {base}, 4;"]


def test_selectors_from_outside() -> None:
    made = Assembly(outside=True)
    nodes = (Input(0), Prmt(0, 0, 0x5410, ((1, 0x4444), (3, 0x1111))))
    made.run(Program(5, 1, nodes, (1,)), ["$1"])
    assert any("gl.where" in line for line in made.computed())
    assert made.text(2).count("prmt.b32") == 1
