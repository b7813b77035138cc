from verify.mlir import operations_of, read_module

TEXT = """
tt.func @f(%n: i32) {
  %z = arith.constant 0 : i32
  scf.for %i = %z to %n step %n : i32 {
    %a = arith.addi %i, %n : i32
  }
  tt.return
}
"""


def test_a_terminator_may_be_left_out() -> None:
    function = read_module(TEXT).functions["f"]
    entry = function.body.blocks[0]
    assert entry.terminator is not None and entry.terminator.name == "tt.return"
    loop = entry.body[-1].regions[0].blocks[0]
    assert loop.terminator is None
    assert [operation.name for operation in loop.body] == ["arith.addi"]


def test_operations_are_listed_outermost_first() -> None:
    module = read_module(TEXT)
    found = list(operations_of(module.functions["f"].body))
    assert [o.name for o in found] == [
        "arith.constant",
        "scf.for",
        "arith.addi",
        "tt.return",
    ]
    assert module.source_of(found[2]) == "line 5"
    assert str(found[2].result_type()) == "i32"
