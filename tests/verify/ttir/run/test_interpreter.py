from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from verify.mlir import read_module
from verify.ttir import function_of
from verify.ttir.run import GuardedMemory, Launch, RunError, run_program

Text = Callable[..., str]


def ran(
    text: str, sizes: dict[str, int], n: int, pid: int = 0, exact: bool = False
) -> GuardedMemory:
    module = read_module(text)
    memory = GuardedMemory(sizes, lambda buffer, offsets: np.asarray(offsets) + 1)
    launch = Launch({"n": n}, {}, {"x": 4, "y": 1, "z": 1}, {"x": pid}, exact)
    run_program(module, function_of(module, None), launch, memory)
    return memory


def test_a_copy_copies(copy_text: str) -> None:
    memory = ran(copy_text, {"x": 70, "y": 70}, 70, 1)
    assert memory.written["y"] == {k: k + 1.0 for k in range(64, 70)}
    assert not memory.events


def test_an_access_outside_is_seen(copy_text: str) -> None:
    memory = ran(copy_text, {"x": 3, "y": 9}, 4)
    assert [(e.buffer, e.offset) for e in memory.events] == [("x", 3)]


def test_exact_integers_do_not_wrap(ttir: Text) -> None:
    body = (
        "%a = arith.muli %n, %n : i32\n%p = tt.addptr %y, %a : !tt.ptr<f32>, i32\n"
        "%f = arith.constant 0.0 : f32\ntt.store %p, %f : !tt.ptr<f32>"
    )
    seen = [
        ran(ttir(body), {"y": 1}, 2**16, exact=exact).trace[0][1][0]
        for exact in (False, True)
    ]
    assert seen == [0, 2**32]


def test_poison_is_followed(ttir: Text, block: str) -> None:
    body = block + (
        "%v = tt.load %from, %mask : tensor<64x!tt.ptr<f32>>\n"
        "tt.store %to, %v : tensor<64x!tt.ptr<f32>>"
    )
    memory = ran(ttir(body), {"x": 64, "y": 64}, 5)
    assert [e.kind for e in memory.events] == ["poison"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%a = tt.nonsense %n : i32", "cannot be run"),
        ("%a = arith.addi %b, %b : i32", "%b is not defined"),
        ("cf.br ^bb1\n^bb1:\ncf.br ^bb1\n^bb2:", "more than"),
    ],
)
def test_what_cannot_be_run_confirms_nothing(ttir: Text, line: str, said: str) -> None:
    with pytest.raises(RunError, match=said):
        ran(ttir(line), {}, 1)


def test_scalars_and_flags(ttir: Text) -> None:
    body = "%p = tt.addptr %y, %n : !tt.ptr<f32>, i32\ntt.store %p, %s : !tt.ptr<f32>"
    text = ttir(body, "y: !tt.ptr<f32>, n: i32, s: f32, b: i1")
    cells: Any = ran(text, {"y": 9}, 3).written["y"]
    assert list(cells) == [3]
