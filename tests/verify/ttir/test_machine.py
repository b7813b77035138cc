from collections.abc import Callable

import pytest

from verify.mlir import read_module
from verify.ttir import evaluate, function_of
from verify.ttir.machine import alternatives, deep_recursion, pointee_of

Text = Callable[..., str]


def test_a_copy_is_a_load_and_a_store(copy_text: str) -> None:
    program = evaluate(read_module(copy_text))
    load, store = program.accesses
    assert (load.kind, store.kind) == ("load", "store")
    assert repr(store.pointer) == "y + 64 * pid_x + lane0"
    assert repr(store.mask) == "64 * pid_x + lane0 < n"
    assert store.value is not None and "x[64 * pid_x" in repr(store.value.term())
    assert program.scalars.keys() == {"n"} and program.pids.keys() == {"x"}
    assert not program.unsupported


def test_an_unknown_operation_is_named(ttir: Text, block: str) -> None:
    program = evaluate(read_module(ttir(block + "%a = tt.nonsense %mask : i1\n")))
    assert [u.construct for u in program.unsupported] == ["tt.nonsense"]


def test_an_unknown_pure_operation_gives_a_value_that_names_it(ttir: Text) -> None:
    body = (
        "%a = arith.nonsense %n, %n : i32\n%p = tt.addptr %y, %a : !tt.ptr<f32>, i32\n"
        "%v = arith.constant 1.0 : f32\ntt.store %p, %v : !tt.ptr<f32>"
    )
    program = evaluate(read_module(ttir(body)))
    assert not program.unsupported
    assert "nonsense" in repr(program.accesses[0].pointer)


def test_a_value_that_is_not_defined_is_no_pass(ttir: Text) -> None:
    program = evaluate(read_module(ttir("%a = arith.addi %b, %b : i32")))
    assert "%b" in program.unsupported[0].construct


def test_the_function_that_is_meant(copy_text: str) -> None:
    module = read_module(copy_text + copy_text.replace("@k", "@other"))
    with pytest.raises(ValueError, match="one public function"):
        function_of(module, None)
    with pytest.raises(ValueError, match="'nope'"):
        function_of(module, "nope")
    assert function_of(module, "other").name == "other"


def test_buffers_may_be_one(copy_text: str) -> None:
    program = evaluate(read_module(copy_text), buffers={"y": "x"})
    assert alternatives(program.accesses[1].pointer)[0][0] == "x"
    assert str(pointee_of(program.accesses[1].element)) == "f32"


def test_long_chains_are_evaluated(ttir: Text) -> None:
    lines = ["%a0 = arith.addi %n, %n : i32"]
    lines += [f"%a{i + 1} = arith.addi %a{i}, %n : i32" for i in range(900)]
    lines += [
        "%p = tt.addptr %y, %a900 : !tt.ptr<f32>, i32",
        "%v = arith.constant 1.0 : f32",
        "tt.store %p, %v : !tt.ptr<f32>",
    ]
    with deep_recursion():
        program = evaluate(read_module(ttir("\n".join(lines))))
        assert len(program.accesses) == 1 and not program.unsupported
