from verify.mlir import read_module
from verify.ttir import evaluate
from verify.ttir.program import ATOMIC, LOAD, STORE, Unsupported


def test_a_program_knows_where_its_operations_stand(copy_text: str) -> None:
    program = evaluate(read_module(copy_text))
    assert [a.kind for a in program.accesses] == [LOAD, STORE] and ATOMIC == "atomic"
    assert program.source_of(program.accesses[0].operation) == "line 15"
    assert [a.order for a in program.accesses] == [0, 1]
    assert Unsupported("a", "b") == Unsupported("a", "b")
