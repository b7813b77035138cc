from collections.abc import Callable

from verify.mlir import read_module
from verify.symbolic.terms import TRUE, choose, constant, pointer, symbol, truth_symbol
from verify.ttir import evaluate
from verify.ttir.memory import moved

Text = Callable[..., str]


def test_pointers_move_in_each_alternative() -> None:
    test, x = truth_symbol("t"), symbol("x")
    both = choose(test, pointer("a", x), pointer("b", x))
    assert moved(both, constant(0)) is both
    assert repr(moved(both, constant(2))) == "(a + x + 2 if t else b + x + 2)"


def test_a_load_is_a_read_its_default_or_poison(ttir: Text, block: str) -> None:
    lines = block + (
        "%zero = arith.constant dense<0.0> : tensor<64xf32>\n"
        "%a = tt.load %from, %mask, %zero : tensor<64x!tt.ptr<f32>>\n"
        "%b = tt.load %from, %mask : tensor<64x!tt.ptr<f32>>\n"
        "tt.store %to, %a : tensor<64x!tt.ptr<f32>>\n"
        "tt.store %to, %b : tensor<64x!tt.ptr<f32>>"
    )
    *_, first, second = evaluate(read_module(ttir(lines))).accesses
    assert first.value is not None and second.value is not None
    assert "poison" not in repr(first.value.term())
    assert "poison" in repr(second.value.term())


def test_a_load_after_a_store_sees_another_memory(ttir: Text, block: str) -> None:
    lines = block + (
        "%a = tt.load %from : tensor<64x!tt.ptr<f32>>\n"
        "tt.store %from, %a : tensor<64x!tt.ptr<f32>>\n"
        "%b = tt.load %from : tensor<64x!tt.ptr<f32>>\n"
        "tt.store %to, %b : tensor<64x!tt.ptr<f32>>"
    )
    accesses = evaluate(read_module(ttir(lines))).accesses
    first, last = accesses[1].value, accesses[3].value
    assert first is not None and last is not None
    assert first.term().args[1] == 0 and last.term().args[1] != 0


def test_atomics_are_noted_as_such(ttir: Text) -> None:
    body = (
        "%t = arith.constant true\n%v = arith.constant 1.0 : f32\n"
        "%o = tt.atomic_rmw fadd, acq_rel, gpu, %y, %v, %t : "
        "(!tt.ptr<f32>, f32, i1) -> f32\n"
        "tt.store %x, %o : !tt.ptr<f32>"
    )
    atomic, store = evaluate(read_module(ttir(body))).accesses
    assert atomic.kind == "atomic" and store.value is not None
    assert "atomic" in repr(store.value.term())


def test_windows_check_the_dims_that_they_are_told_to(ttir: Text) -> None:
    arguments = "y: !tt.ptr<f32>, n: i64, s: i64, i: i32"
    body = (
        "%p = tt.make_tensor_ptr %y, [%n, %n], [%s, %s], [%i, %i] "
        "{order = array<i32: 1, 0>} : <tensor<4x8xf32>>\n"
        "%q = tt.advance %p, [%i, %i] : <tensor<4x8xf32>>\n"
        "%v = tt.load %q {boundaryCheck = array<i32: 0>, padding = 1 : i32} : "
        "!tt.ptr<tensor<4x8xf32>>\n"
        "tt.store %q, %v {boundaryCheck = array<i32: 0, 1>} : !tt.ptr<tensor<4x8xf32>>"
    )
    program = evaluate(read_module(ttir(body, arguments)))
    assert not program.unsupported
    load, store = program.accesses
    assert repr(load.mask).count("<") == 2 and repr(store.mask).count("<") == 4


def test_descriptors_check_all_dims(ttir: Text) -> None:
    arguments = "y: !tt.ptr<f32>, n: i32, s: i64, i: i32"
    body = (
        "%d = tt.make_tensor_descriptor %y, [%n, %n], [%s, %s] : "
        "!tt.ptr<f32>, !tt.tensordesc<tensor<4x8xf32>>\n"
        "%v = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<tensor<4x8xf32>> -> "
        "tensor<4x8xf32>\n"
        "tt.descriptor_store %d[%i, %i], %v : !tt.tensordesc<tensor<4x8xf32>>, "
        "tensor<4x8xf32>"
    )
    program = evaluate(read_module(ttir(body, arguments)))
    assert not program.unsupported
    assert [repr(a.mask).count("<") for a in program.accesses] == [4, 4]


def test_descriptors_take_rows_and_add(ttir: Text) -> None:
    arguments = "y: !tt.ptr<f32>, n: i32, s: i64, i: i32"
    body = (
        "%d = tt.make_tensor_descriptor %y, [%n, %n], [%s, %s] : "
        "!tt.ptr<f32>, !tt.tensordesc<tensor<1x8xf32>>\n"
        "%r = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>\n"
        "%v = tt.descriptor_gather %d[%r, %i] : (!tt.tensordesc<tensor<1x8xf32>>, "
        "tensor<4xi32>, i32) -> tensor<4x8xf32>\n"
        "tt.descriptor_scatter %d[%r, %i], %v : !tt.tensordesc<tensor<1x8xf32>>, "
        "tensor<4xi32>, i32, tensor<4x8xf32>\n"
        "%e = tt.make_tensor_descriptor %y, [%n, %n], [%s, %s] : "
        "!tt.ptr<f32>, !tt.tensordesc<tensor<4x8xf32>>\n"
        "tt.descriptor_reduce add, %e[%i, %i], %v : "
        "!tt.tensordesc<tensor<4x8xf32>>, tensor<4x8xf32>"
    )
    program = evaluate(read_module(ttir(body, arguments)))
    assert not program.unsupported
    assert [a.kind for a in program.accesses] == ["load", "store", "atomic"]
    gather, scatter, add = program.accesses
    assert gather.mask == scatter.mask != add.mask
    assert len(gather.lanes) == 2


def test_what_is_assumed_is_a_promise(ttir: Text) -> None:
    body = (
        "%z = arith.constant 0 : i32\n%c = arith.cmpi sgt, %n, %z : i32\n"
        "llvm.intr.assume %c : i1"
    )
    program = evaluate(read_module(ttir(body)))
    assert [claim.kind for claim in program.claims] == ["assume"]


def test_assertions_are_noted_on_later_accesses(ttir: Text, block: str) -> None:
    lines = block + (
        "%d = arith.constant dense<0.0> : tensor<64xf32>\n"
        "tt.store %to, %d : tensor<64x!tt.ptr<f32>>\n"
        'tt.assert %mask, "m" : tensor<64xi1>\n'
        "tt.store %to, %d : tensor<64x!tt.ptr<f32>>\n"
        "%one = arith.constant 1.0 : f32\n"
        "tt.store %y, %one : !tt.ptr<f32>"
    )
    before, after, other = evaluate(read_module(ttir(lines))).accesses[-3:]
    assert before.asserted is TRUE
    assert after.asserted is other.asserted is not TRUE


def test_an_assertion_in_a_branch_is_one_of_the_branch(ttir: Text) -> None:
    body = (
        "%z = arith.constant 0 : i32\n%c = arith.cmpi sgt, %n, %z : i32\n"
        "%one = arith.constant 1.0 : f32\n"
        "scf.if %c {\n"
        '  tt.assert %c, "m" : i1\n'
        "  tt.store %y, %one : !tt.ptr<f32>\n}\n"
        "tt.store %y, %one : !tt.ptr<f32>"
    )
    inside, after = evaluate(read_module(ttir(body))).accesses
    assert inside.asserted is not TRUE and after.asserted is TRUE
