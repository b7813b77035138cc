# ruff: noqa: E501 - operations stand on one line
from collections.abc import Callable

import numpy as np
import pytest

from verify.mlir import read_module
from verify.ttir import function_of
from verify.ttir.run import GuardedMemory, Launch, run_program
from verify.ttir.run.handlers import HANDLERS

Text = Callable[..., str]


def stored(ttir: Text, body: str, name: str, shape: str) -> list[float]:
    kind = f"tensor<{shape}"
    size = int(np.prod([int(s) for s in shape.split("x")]))
    flat = f"tensor<{size}"
    text = ttir(
        "%r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>\n"
        f"{body}\n%w = tt.reshape {name} : {kind}xi32> -> {flat}xi32>\n"
        f"%o = tt.make_range {{end = {size} : i32, start = 0 : i32}} : {flat}xi32>\n"
        f"%ps = tt.splat %y : !tt.ptr<i32> -> {flat}x!tt.ptr<i32>>\n"
        f"%qs = tt.addptr %ps, %o : {flat}x!tt.ptr<i32>>, {flat}xi32>\n"
        f"tt.store %qs, %w : {flat}x!tt.ptr<i32>>",
        "y: !tt.ptr<i32>, n: i32",
    )
    module = read_module(text)
    memory = GuardedMemory({"y": size}, lambda buffer, offsets: np.asarray(offsets))
    launch = Launch({"n": 3}, {}, {}, {})
    run_program(module, function_of(module, None), launch, memory)
    assert not memory.events
    return [memory.written["y"][k] for k in range(size)]


def test_views_move_elements(ttir: Text) -> None:
    body = (
        "%a = tt.reshape %r : tensor<8xi32> -> tensor<2x4xi32>\n"
        "%v = tt.trans %a {order = array<i32: 1, 0>} : tensor<2x4xi32> -> tensor<4x2xi32>"
    )
    assert stored(ttir, body, "%v", "4x2") == [0, 4, 1, 5, 2, 6, 3, 7]
    body = (
        "%a = tt.expand_dims %r {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>\n"
        "%v = tt.broadcast %a : tensor<8x1xi32> -> tensor<8x2xi32>"
    )
    assert stored(ttir, body, "%v", "8x2")[:6] == [0, 0, 1, 1, 2, 2]


def test_join_split_cat_and_gather(ttir: Text) -> None:
    body = (
        "%b = arith.addi %r, %r : tensor<8xi32>\n"
        "%j = tt.join %r, %b : tensor<8xi32> -> tensor<8x2xi32>\n"
        "%c, %v = tt.split %j : tensor<8x2xi32> -> tensor<8xi32>"
    )
    assert stored(ttir, body, "%v", "8") == [0, 2, 4, 6, 8, 10, 12, 14]
    body = "%v = tt.cat %r, %r : tensor<8xi32> -> tensor<16xi32>"
    assert stored(ttir, body, "%v", "16") == [*range(8), *range(8)]
    body = (
        "%c = arith.constant dense<7> : tensor<8xi32>\n%i = arith.subi %c, %r : tensor<8xi32>\n"
        "%v = tt.gather %r[%i] {axis = 0 : i32} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>"
    )
    assert stored(ttir, body, "%v", "8") == [7, 6, 5, 4, 3, 2, 1, 0]


def test_constants_and_choices(ttir: Text) -> None:
    body = (
        "%c = arith.constant dense<[9, 8, 7, 6, 5, 4, 3, 2]> : tensor<8xi32>\n"
        "%t = arith.cmpi slt, %r, %c : tensor<8xi32>\n"
        "%v = arith.select %t, %r, %c : tensor<8xi1>, tensor<8xi32>"
    )
    assert stored(ttir, body, "%v", "8") == [0, 1, 2, 3, 4, 4, 3, 2]


def test_atomics_add(ttir: Text) -> None:
    body = (
        "%ms = arith.constant dense<true> : tensor<8xi1>\n"
        "%zs = arith.constant dense<0> : tensor<8xi32>\n"
        "%as = tt.splat %y : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>\n"
        "%bs = tt.addptr %as, %zs : tensor<8x!tt.ptr<i32>>, tensor<8xi32>\n"
        "%old = tt.atomic_rmw add, acq_rel, gpu, %bs, %r, %ms : "
        "(tensor<8x!tt.ptr<i32>>, tensor<8xi32>, tensor<8xi1>) -> tensor<8xi32>\n"
        "%c = tt.load %y : !tt.ptr<i32>\n"
        "%v = tt.splat %c : i32 -> tensor<8xi32>"
    )
    assert stored(ttir, body, "%v", "8") == [28] * 8


def test_an_atomic_on_one_place_adds(ttir: Text) -> None:
    body = (
        "%one = arith.constant 1 : i32\n%true = arith.constant true\n"
        "%q = tt.addptr %y, %n : !tt.ptr<i32>, i32\n"
        "%old = tt.atomic_rmw add, acq_rel, gpu, %q, %one, %true : "
        "(!tt.ptr<i32>, i32, i1) -> i32\n"
        "%now = tt.load %q : !tt.ptr<i32>\n%both = arith.muli %old, %now : i32\n"
        "%v = tt.splat %both : i32 -> tensor<8xi32>"
    )
    assert stored(ttir, body, "%v", "8") == [12] * 8


WINDOW = (
    "%s = arith.constant 4 : i64\n%one = arith.constant 1 : i64\n"
    "%two = arith.constant 2 : i32\n"
    "%d = tt.make_tensor_descriptor %y, [%two, %two], [%s, %one] : "
    "!tt.ptr<i32>, !tt.tensordesc<{kind}>\n"
)


@pytest.mark.parametrize("kind", ["tensor<1x4xi32>", "1x4xi32"])
def test_rows_are_gathered_and_scattered(ttir: Text, kind: str) -> None:
    body = WINDOW.format(kind=kind) + (
        "%rows = arith.constant dense<[1, 0, 7, 1]> : tensor<4xi32>\n"
        "%zero = arith.constant 0 : i32\n"
        f"%v = tt.descriptor_gather %d[%rows, %zero] : (!tt.tensordesc<{kind}>, "
        "tensor<4xi32>, i32) -> tensor<4x4xi32>"
    )
    rows = [4, 5, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [4, 5, 0, 0]
    assert stored(ttir, body, "%v", "4x4") == [x for row in rows for x in row]


def test_rows_are_scattered(ttir: Text) -> None:
    body = WINDOW.format(kind="tensor<1x4xi32>") + (
        "%rows = arith.constant dense<[1, 9]> : tensor<2xi32>\n"
        "%zero = arith.constant 0 : i32\n"
        "%b = tt.reshape %r : tensor<8xi32> -> tensor<2x4xi32>\n"
        "tt.descriptor_scatter %d[%rows, %zero], %b : "
        "!tt.tensordesc<tensor<1x4xi32>>, tensor<4xi32>, i32, tensor<2x4xi32>\n"
        "%ps1 = tt.splat %y : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>\n"
        "%qs1 = tt.addptr %ps1, %r : tensor<8x!tt.ptr<i32>>, tensor<8xi32>\n"
        "%v = tt.load %qs1 : tensor<8x!tt.ptr<i32>>"
    )
    assert stored(ttir, body, "%v", "8") == [0, 1, 2, 3, 0, 1, 6, 7]


def test_windows_are_read_and_written(ttir: Text) -> None:
    body = (
        "%s = arith.constant 4 : i64\n%one = arith.constant 1 : i64\n"
        "%two = arith.constant 2 : i32\n%zero = arith.constant 0 : i32\n"
        "%p = tt.make_tensor_ptr %y, [%s, %s], [%s, %one], [%two, %zero] "
        "{order = array<i32: 1, 0>} : <tensor<4x4xi32>>\n"
        "%v = tt.load %p {boundaryCheck = array<i32: 0>, padding = 1 : i32} : !tt.ptr<tensor<4x4xi32>>"
    )
    assert stored(ttir, body, "%v", "4x4") == [*range(8, 16), *[0] * 8]
    assert "tt.descriptor_load" in HANDLERS
