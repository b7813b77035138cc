"""Programs run, and come out the same from the same choices."""

import warnings

import torch
from hypothesis import given, settings

from verify.oracle.rounding import expected
from verify.strategies.programs import Program, programs


@settings(max_examples=60, deadline=None)
@given(programs(max_operations=5))
def test_a_drawn_program_runs_and_agrees_with_itself(program: Program) -> None:
    wanted = expected(program.function(), program.build)
    assert wanted.error is None
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        inputs = program.build()
        torch.manual_seed(0)
        results = [*program.function()(*inputs), *inputs]
    for value, again in zip(wanted.values, results, strict=True):
        assert value.dtype == again.dtype and value.shape == again.shape
        assert torch.equal(value.nan_to_num(), again.nan_to_num())
