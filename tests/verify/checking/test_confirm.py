from collections.abc import Callable
from dataclasses import replace

import pytest

from algebra.verdict import Refuted, Unknown
from verify.checking.confirm import (
    UNLAUNCHED,
    candidate_of,
    causes_of,
    confirmed,
    hole,
    nonzero,
    programs_of,
    smallest,
)
from verify.checking.coverage import covered
from verify.checking.memory_safety import bounds
from verify.checking.setting import Setting
from verify.symbolic.terms import (
    INT,
    at_most,
    constant,
    equal,
    mod,
    opaque,
    read,
    symbol,
)

Make = Callable[..., Setting]


def test_a_refutation_was_run_and_is_small(settings: Make, copy_text: str) -> None:
    one = settings(copy_text.replace("load %from, %mask", "load %from"))
    failing = next(f for f in bounds(one) if isinstance(f.verdict, Unknown))
    found = confirmed(one, failing).verdict
    assert isinstance(found, Refuted)
    example = found.counterexample
    assert example.confirmed.startswith("run: load of x[")
    assert example.arguments["n"] <= 8 and example.grid == (1, 1, 1)
    assert example.detail["offset"] >= example.detail["size"]


def test_a_hole_is_shown_by_running_all_programs(
    settings: Make, copy_text: str
) -> None:
    one = settings(copy_text, grid=("n // 64",))
    (finding,) = covered(one)
    found = hole(one, finding, "y").verdict
    assert isinstance(found, Refuted)
    assert "none stores y[" in found.counterexample.confirmed


def test_where_all_small_launches_are_fine_it_stays_open(
    settings: Make, copy_text: str
) -> None:
    one = settings(copy_text)
    (finding,) = covered(one)
    left = hole(one, finding, "y").verdict
    assert isinstance(left, Unknown) and "small launches write all" in left.reason


@pytest.mark.parametrize(("holds", "shown"), [("olt", True), ("ogt", False)])
def test_launches_that_assertions_end_show_nothing(
    settings: Make, copy_text: str, holds: str, shown: bool
) -> None:
    """Numbers that are read may be others; zeros are tried before that is said."""
    claim = f"""  %half = arith.constant dense<0.5> : tensor<64xf32>
  %nothing = arith.constant dense<0.0> : tensor<64xf32>
  %seen = arith.select %mask, %value, %nothing : tensor<64xi1>, tensor<64xf32>
  %fine = arith.cmpf {holds}, %seen, %half : tensor<64xf32>
  tt.assert %fine, "value" : tensor<64xi1>
  tt.store"""
    text = copy_text.replace("  tt.store", claim)
    for grid, missing in (("cdiv(n, 64)", False), ("n // 64", shown)):
        one = settings(text, grid=(grid,))
        (finding,) = covered(one)
        found = hole(one, finding, "y").verdict
        assert isinstance(found, Refuted if missing else Unknown), found
        if isinstance(found, Unknown):
            assert ("0 small launches" in found.reason) != shown


def test_candidates_are_launches(settings: Make, copy_text: str) -> None:
    one = settings(copy_text)
    values = smallest(one, [equal(one.names["n"], constant(100))])
    assert isinstance(values, dict)
    candidate = candidate_of(one, values)
    assert candidate.scalars["n"] == 100 and candidate.sizes == {"x": 100, "y": 100}
    assert list(programs_of(candidate)) == [
        {"x": 0, "y": 0, "z": 0},
        {"x": 1, "y": 0, "z": 0},
    ]


def test_causes_are_named() -> None:
    index = read("int", "index", 0, symbol("x"), None, None)
    strange = opaque("int", "unsupported", ("tt.nonsense", "k.py:1:1", 0))
    assert causes_of([equal(index, constant(1))]) == "the contents of index"
    assert "tt.nonsense (k.py:1:1)" in causes_of([equal(strange, constant(1))])


def test_what_no_gpu_launches_refutes_nothing(settings: Make, copy_text: str) -> None:
    text = copy_text.replace("get_program_id x", "get_program_id y")
    text = text.replace("load %from, %mask", "load %from")
    one = settings(text, grid=(1, "cdiv(n, 64)"))
    failing = next(f for f in bounds(one) if isinstance(f.verdict, Unknown))
    assert isinstance(confirmed(one, failing).verdict, Refuted)
    large = one.names["n"]
    many = (*failing.formulas, at_most(constant(64 * 60000), large))
    assert isinstance(confirmed(one, replace(failing, formulas=many)).verdict, Refuted)
    beyond = (*failing.formulas, at_most(constant(64 * 65535 + 1), large))
    found = confirmed(one, replace(failing, formulas=beyond)).verdict
    assert found == Unknown(UNLAUNCHED)


def test_what_only_a_zero_divisor_breaks_is_not_refuted(
    settings: Make, copy_text: str
) -> None:
    one = settings(copy_text.replace("load %from, %mask", "load %from"))
    failing = next(f for f in bounds(one) if isinstance(f.verdict, Unknown))
    by_zero = equal(mod(one.names["n"], symbol("d", 0, 0)), constant(0))
    assert nonzero([by_zero])
    found = confirmed(one, replace(failing, formulas=(*failing.formulas, by_zero)))
    assert found.verdict == Unknown(UNLAUNCHED)


def test_an_index_is_small_where_that_is_enough(settings: Make, copy_text: str) -> None:
    one = settings(copy_text)
    index = read(INT, "x", 0, constant(0), -(2**63), 2**63 - 1)
    values = smallest(one, [at_most(index, constant(-1))])
    assert isinstance(values, dict) and -(2**31) <= values[index] < 0
