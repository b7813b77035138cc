"""Program ids in digits: nothing is lost, and the number of programs still holds."""

import pytest

from algebra.verdict import Proved, Refuted
from verify.checking import programs
from verify.checking.arguments import Buffer, Scalar
from verify.checking.check import check
from verify.checking.finding import Counterexample
from verify.symbolic.terms import constant, symbol
from verify.symbolic.walk import symbols_of, value_at

TEXT = """
tt.func public @rows(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
  %p = tt.get_program_id x : i32
  %n = arith.constant 12 : i32
  %c = arith.constant 4 : i32
  %row = arith.divsi %p, %n : i32
  %rest = arith.remsi %p, %n : i32
  %tile = arith.divsi %rest, %c : i32
  %last = arith.remsi %p, %c : i32
  %w = arith.constant 3 : i32
  %a = arith.muli %last, %w : i32
  %b = arith.addi %a, %tile : i32
  %h = arith.constant 12 : i32
  %d = arith.muli %row, %h : i32
  %o = arith.addi %d, %b : i32
  %from = tt.addptr %x, %o : !tt.ptr<f32>, i32
  %v = tt.load %from : !tt.ptr<f32>
  %to = tt.addptr %y, %o : !tt.ptr<f32>, i32
  tt.store %to, %v : !tt.ptr<f32>
  tt.return
}
"""


def arguments(size: int | str) -> dict[str, Buffer | Scalar]:
    return {
        "x": Buffer("fp32", size),
        "y": Buffer("fp32", size, writes=True),
        "n": Scalar("i32", 1, 1000),
    }


def test_digits_are_a_number_of_mixed_radix() -> None:
    pid = programs.digits("x", [4, 12], constant(60))
    seen = set()
    nodes = sorted(symbols_of(pid), key=repr)
    assert [node.high for node in nodes] == [3, 2, 4]
    for one in range(4):
        for two in range(3):
            for three in range(5):
                seen.add(
                    value_at(pid, dict(zip(nodes, (one, two, three), strict=True)))
                )
    assert seen == set(range(60))


@pytest.mark.parametrize("grid", [60, "12 * n"])
def test_a_kernel_that_takes_its_program_apart_is_proved(grid: int | str) -> None:
    size = 60 if grid == 60 else "12 * n"
    report = check(TEXT, arguments(size), grid=(grid,))
    assert isinstance(report.verdict, Proved), report


def test_one_program_too_many_is_refuted_by_that_program() -> None:
    report = check(TEXT, arguments(60), grid=(61,), preconditions=False)
    verdict = report["in_bounds"]
    assert isinstance(verdict, Refuted)
    assert isinstance(verdict.counterexample, Counterexample)
    assert verdict.counterexample.programs == [{"x": 60}]


def test_one_program_too_few_leaves_a_hole() -> None:
    report = check(TEXT, arguments(60), grid=(59,), preconditions=False)
    assert isinstance(report["coverage"], Refuted)
    assert isinstance(report["in_bounds"], Proved)
    assert isinstance(report["write_once"], Proved)


def test_limits_hold_for_the_second_program_too() -> None:
    pid = programs.digits("x", [4], symbol("n", 1, 100))
    node = next(n for n in symbols_of(pid) if str(n.args[0]).endswith(".1"))
    copy = symbol(f"{node.args[0]}'", node.low, node.high)
    (fact,) = programs.limit(copy, pid, symbol("n", 1, 100))
    assert all(
        str(n.args[0]).endswith("'") or n.args[0] == "n" for n in symbols_of(fact)
    )
    assert not programs.limit(node, pid, constant(1000))
    assert programs.is_digit("pid_x.1'") and not programs.is_digit("pid_x")
