"""Programs run, come out the same from the same choices, and shrink to one line."""

import warnings
from functools import partial

import pytest
import torch
from hypothesis import HealthCheck, Phase, find, given, seed, settings
from hypothesis import strategies as st

from verify.oracle.mismatch import compare
from verify.oracle.outcome import outcome
from verify.oracle.rounding import eager, expected
from verify.strategies.programs import FAMILIES, Program, programs
from verify.strategies.programs.operations import CONSTANT_WRITES, WRITTEN_COPIES
from verify.strategies.programs.scope import Scope
from verify.strategies.programs.strategy import (
    _statement,
    lie_within,
    overlaps,
    resized,
    runs,
    unread,
)
from verify.strategies.tensors import TensorSpec

QUICK = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

UNSHRUNK = settings(
    max_examples=2000, deadline=None, database=None, phases=[Phase.generate]
)


@QUICK
@given(programs(max_operations=5))
def test_a_drawn_program_runs_and_agrees_with_itself(program: Program) -> None:
    for call in range(program.calls):
        wanted = eager(
            program.function(),
            partial(program.build, call=call),
            gradients=program.gradients,
        )
        assert wanted.error is None
        found = outcome(
            program.function(), program.build(call=call), gradients=program.gradients
        )
        assert compare(wanted, [leaf for _, leaf in found]) is None


@QUICK
@given(programs(max_operations=1, dtypes=(torch.int32, torch.bool)))
def test_inputs_have_the_types_that_are_named(program: Program) -> None:
    for specs in (program.inputs, *program.others):
        assert {one.dtype for one in specs.values()} <= {torch.int32, torch.bool}


@QUICK
@given(programs(max_operations=3, max_calls=1))
def test_what_agrees_bit_for_bit_is_within_the_bounds(program: Program) -> None:
    wanted = expected(program.function(), program.build, gradients=program.gradients)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = outcome(
            program.function(), program.build(), gradients=program.gradients
        )
    assert compare(wanted, [leaf for _, leaf in found]) is None


@QUICK
@given(programs(families=("random",), gradients=False, max_calls=1))
def test_what_does_not_depend_on_the_seed_is_told_from_what_does(
    program: Program,
) -> None:
    open_places = program.random_places()
    runs_of_seeds = [
        outcome(program.function(), program.build(), seed=seed) for seed in range(4)
    ]
    for other in runs_of_seeds[1:]:
        for (place, a), (_, b) in zip(runs_of_seeds[0], other, strict=True):
            if place not in open_places and isinstance(a, torch.Tensor):
                assert torch.equal(a.nan_to_num(), b.nan_to_num()), program.source


QUICKLY_SHRUNK = ("modules", "mutations")


@pytest.mark.parametrize(
    "family",
    [
        name if name in QUICKLY_SHRUNK else pytest.param(name, marks=pytest.mark.slow)
        for name in sorted(FAMILIES)
    ],
)
def test_every_family_shrinks_to_one_operation(family: str) -> None:
    small = find(
        programs(families=(family,), gradients=False, max_calls=1),
        lambda program: bool(program.lines),
        settings=settings(max_examples=100, deadline=None, database=None),
    )
    assert len(small.lines) == 1
    assert all(spec.is_plain for spec in small.inputs.values())


def test_gradients_and_further_sizes_are_drawn() -> None:
    some = find(
        programs(families=("pointwise",)),
        lambda program: program.gradients and program.calls == 2,
        settings=settings(max_examples=500, deadline=None, database=None),
    )
    assert any(spec.requires_grad for spec in some.inputs.values())
    first, second = some.inputs["x0"].shape, some.others[0]["x0"].shape
    assert len(first) == len(second)


def test_all_that_nobody_reads_is_returned_now_and_then() -> None:
    lines = ["v0 = x0 + 1", "x0.add_(v0)", "v2 = v0 * 2", "v3 = x0 - 1"]
    assert unread(["v0", "v2", "v3"], lines) == ["v2", "v3"]
    some: list[Program] = []

    @settings(max_examples=150, deadline=None, database=None, phases=[Phase.generate])
    @seed(1)
    @given(programs(families=("pointwise",), gradients=False, max_calls=1))
    def draw(program: Program) -> None:
        names = unread([f"v{n}" for n in range(9)], program.lines)
        if len(names) > 3 and set(names) <= set(program.returns):
            some.append(program)

    draw()
    assert some


def test_unknown_families_are_refused() -> None:
    with pytest.raises(ValueError, match="names among pointwise"):
        find(programs(families=("nothing",)), lambda program: True)


def test_a_tensor_of_another_size_keeps_its_special_strides() -> None:
    plain = TensorSpec((2, 3), (3, 1), 0, torch.float32)
    assert resized(plain, {3: 5}).strides == (5, 1)
    expanded = TensorSpec((2, 3), (0, 1), 0, torch.float32)
    assert resized(expanded, {2: 7}).shape == (7, 3)
    assert resized(expanded, {2: 7}).strides == (0, 1)


def test_a_program_that_eager_mode_refuses_does_not_run() -> None:
    spec = TensorSpec((2,), (1,), 0, torch.float32)
    assert not runs(Program({"x0": spec}, ("v0 = x0 @ x0.bool()",), ("v0",), ("op",)))


@QUICK
@given(programs(families=("mutations",), gradients=False, max_calls=1))
def test_what_overlaps_itself_is_written_with_constants_only(program: Program) -> None:
    x0 = program.build()[0]
    if overlaps(x0) and program.lines[0].startswith("x0"):
        assert program.operations[0] in CONSTANT_WRITES


def test_no_copy_that_overlaps_itself_is_written() -> None:
    windows = torch.arange(9.0).unfold(0, 3, 1)
    scope = Scope({"x0": windows})

    @settings(max_examples=30, deadline=None, database=None)
    @given(st.data(), st.sampled_from(sorted(WRITTEN_COPIES)))
    def draw(data: st.DataObject, name: str) -> None:
        assert _statement(data.draw, scope, name, 0, False) is None

    draw()
    written = torch.slice_scatter(windows, windows[:1] * 0, 0, 0, 1)
    assert not written[1, 0]  # of a row that was not named


def test_inputs_that_lie_in_one_storage_are_drawn_also_in_a_later_call_alone() -> None:
    some = find(
        programs(families=("mutations",), gradients=False),
        lambda program: (
            program.calls == 2 and bool(program.others[0]["x1"].base)
            if "x1" in program.inputs
            else False
        ),
        settings=UNSHRUNK,
    )
    x0, x1 = some.build(call=1)[:2]
    assert x0.untyped_storage().data_ptr() == x1.untyped_storage().data_ptr()
    assert all(runs(some, call) for call in range(2))


def test_a_tensor_within_another_one_with_gaps_is_told() -> None:
    memory = torch.ones(8)
    assert lie_within([memory[::2], memory])
    assert not lie_within([memory[1:], memory[:-1]])
    assert not lie_within([memory[::2], torch.ones(4)])
