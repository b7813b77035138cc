from verify.checking.mutation import EDITS, mutations
from verify.mlir import read_module


def test_each_mutant_is_another_text_that_can_be_read(copy_text: str) -> None:
    found = list(mutations(copy_text))
    assert len({m.text for m in found}) == len(found) > 8
    for mutation in found:
        assert mutation.text != copy_text
        read_module(mutation.text)
        old = copy_text.split("\n")[mutation.line - 1]
        assert mutation.text.split("\n")[mutation.line - 1] != old


def test_the_kinds_of_a_copy(copy_text: str) -> None:
    kinds = {m.kind for m in mutations(copy_text)}
    assert kinds == {
        "mask dropped",
        "comparison off by one",
        "range shifted by one",
        "another axis of the grid",
        "product or sum replaced",
        "block size changed",
    }
    assert kinds <= set(EDITS)


def test_sizes_are_swapped_where_there_are_two() -> None:
    text = "tt.func @f(%m: i32, %n: i32) {\n  %a = arith.muli %m, %m : i32\n}"
    found = [m.text for m in mutations(text) if m.kind == "sizes swapped"]
    assert any("muli %n, %m" in one for one in found)
