"""Right and wrong backends, told apart."""

from collections.abc import Callable
from dataclasses import replace

import torch

from verify.campaign.case import Case
from verify.campaign.process import SubjectProcess
from verify.campaign.subjects import differs, open_places, run
from verify.strategies.programs import Program
from verify.strategies.tensors import TensorSpec

MakeCase = Callable[..., Case]


def test_a_right_backend_is_ok(process: SubjectProcess, case: MakeCase) -> None:
    answer = process.run(case("dynamo", "v0 = torch.sin(x0)"))
    assert answer["status"] == "ok", answer


def test_a_wrong_result_is_a_mismatch(process: SubjectProcess, case: MakeCase) -> None:
    answer = process.run(case("conftest:wrong_sin", "v0 = torch.sin(x0)"))
    assert (answer["status"], answer["kind"]) == ("mismatch", "value")


def _random(subject: str, *names: str) -> Case:
    spec = TensorSpec((4,), (1,), 0, torch.float32)
    lines = tuple(f"v{n} = torch.{name}(x0)" for n, name in enumerate(names))
    return Case(Program({"x0": spec}, lines, ("v0",), names), subject)


def test_random_numbers_count_where_a_compiler_draws_eager_modes() -> None:
    assert open_places(_random("eager", "rand_like", "rand_like")) == frozenset()
    assert open_places(_random("aot_eager", "rand_like")) == frozenset()
    # one of two draws may be left out, and then the other is another number
    assert 0 in open_places(_random("aot_eager", "rand_like", "randn_like"))
    ours = _random("tilewright", "rand_like")
    assert 0 in open_places(ours)
    assert open_places(replace(ours, has_parity=True)) == frozenset()


def test_two_runs_from_one_seed_are_told_apart() -> None:
    x = torch.tensor([1.0, float("nan")])
    assert differs([x, "a"], [x.clone(), "a"]) is None
    wrong = differs([x], [x + 1])
    assert wrong is not None and wrong.kind == "seed"


def test_eager_mode_agrees_with_itself_in_every_call() -> None:
    spec = TensorSpec((4,), (1,), 0, torch.float32, requires_grad=True)
    other = replace(spec, shape=(6,))
    program = Program(
        {"x0": spec},
        ("v0 = m0(x0.reshape(-1, 2))",),
        ("v0",),
        ("linear_module",),
        {"m0": "filled(torch.nn.Linear(2, 3))"},
        ({"x0": other},),
        gradients=True,
    )
    assert run(Case(program, "eager"))["status"] == "ok"


def test_a_wrong_gradient_and_a_wrong_second_call_are_seen(
    process: SubjectProcess, case: MakeCase
) -> None:
    one = case("conftest:wrong_sin", "v0 = torch.sin(x0) if len(x0) > 4 else x0 * 2")
    spec = one.program.inputs["x0"]
    bigger = replace(spec, shape=(5,))
    twice = replace(one.program, others=({"x0": bigger},))
    answer = process.run(replace(one, program=twice))
    assert answer["status"] == "mismatch" and "in call 2" in answer["detail"], answer
