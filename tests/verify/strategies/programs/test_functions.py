"""Drawn Python functions run, shrink to one statement, and have their side effects."""

from functools import partial

import pytest
from hypothesis import HealthCheck, find, given, settings

from verify.oracle.mismatch import compare
from verify.oracle.outcome import outcome
from verify.oracle.rounding import eager
from verify.strategies.programs import BLOCKS, Program, functions
from verify.strategies.programs.functions import OBJECTS

FEW = settings(max_examples=60, deadline=None, database=None)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(functions())
def test_a_function_runs_and_leaves_the_same_behind(program: Program) -> None:
    assert set(program.operations) <= BLOCKS.keys()
    assert list(program.objects) == list(OBJECTS)
    for call in range(program.calls):
        wanted = eager(program.function(), partial(program.build, call=call))
        assert wanted.error is None, program.source
        found = outcome(program.function(), program.build(call=call))
        assert compare(wanted, [leaf for _, leaf in found]) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nonlocal", "try_data"])
def test_functions_shrink_to_one_statement(name: str) -> None:
    small = find(
        functions(statements=[name]), lambda program: bool(program.lines), settings=FEW
    )
    assert small.operations == (name,)


def test_a_second_call_comes_with_other_objects() -> None:
    some = find(
        functions(statements=["assign"]),
        lambda program: program.calls == 2,
        settings=FEW,
    )
    first, second = some.build(), some.build(call=1)
    assert first[2] != second[2] and first[3] != second[3]
    assert len(first[5]) == 2 and len(second[5]) == 1


def test_a_side_effect_is_part_of_the_outcome() -> None:
    some = find(functions(statements=["append"]), lambda program: True, settings=FEW)
    assert some.lines == ("s0.append(1)",)
    ran = outcome(some.function(), some.build())
    still = outcome(lambda *given: some.build()[:1], some.build())
    assert repr(ran) != repr(still)


def test_unknown_statements_are_refused() -> None:
    with pytest.raises(ValueError, match="statements among assign"):
        find(functions(statements=["nothing"]), lambda program: True, settings=FEW)
