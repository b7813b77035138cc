from pathlib import Path

import torch

from verify.reduction import read, steps
from verify.strategies.programs import Program
from verify.strategies.tensors import TensorSpec


def spec(*shape: int, dtype: torch.dtype = torch.float32) -> TensorSpec:
    return steps.like(torch.zeros(shape, dtype=dtype))


def program(*lines: str, returns: str) -> Program:
    inputs = {"x0": spec(4, 8), "x1": spec(8)}
    names = tuple(returns.split())
    return Program(inputs, lines, names, ("op",) * len(lines))


def test_what_no_result_needs_is_left_out() -> None:
    found = steps.alive(
        program("v0 = x0 + 1", "v1 = x1 * 2", "v2 = v0.sin()", returns="v2")
    )
    assert found.lines == ("v0 = x0 + 1", "v2 = v0.sin()")
    assert list(found.inputs) == ["x0"]


def test_a_write_into_what_is_needed_stays() -> None:
    found = steps.alive(
        program("v0 = x0.clone()", "v1 = v0.add_(1)", "x1.mul_(2)", returns="v0")
    )
    assert found.lines == ("v0 = x0.clone()", "v1 = v0.add_(1)")


def test_values_up_to_what_eager_mode_refuses() -> None:
    found = steps.values_of(
        program("v0 = x0.T", "v1 = v0.sum(1) + 0", "v2 = v1 @ x0[0, :3]", returns="v2")
    )
    assert found["v0"].strides == (1, 8) and found["v1"].shape == (8,)
    assert "v2" not in found


def test_an_input_takes_the_place_of_a_value() -> None:
    whole = program("v0 = x0.exp()", "v1 = v0.sum(0)", "v2 = v1 * x1", returns="v2")
    found = [smaller.lines for smaller in steps.inputs_for_values(whole)]
    assert ("v1 = v0.sum(0)", "v2 = v1 * x1") in found
    assert ("v2 = v1 * x1",) in found
    for smaller in steps.inputs_for_values(whole):
        smaller.function()(*smaller.build())


def test_results_and_earlier_values_are_tried() -> None:
    whole = program("v0 = x0 + 1", "v1 = x1 + 1", "v2 = v0 + v1", returns="v2 v1 v0")
    alone = [smaller.returns for smaller in steps.results_alone(whole)]
    assert ("v2",) in alone and ("v1", "v0") in alone
    last = program("v0 = x0 + 1", "v1 = v0 + 1", "v2 = v1 + 1", returns="v2")
    assert [s.returns for s in steps.earlier(last)] == [("v1",), ("v0",)]


def test_one_extent_shrinks_everywhere() -> None:
    whole = program("v0 = x0.reshape(2, 2, 8) + x1", returns="v0")
    found = {smaller.lines[0] for smaller in steps.smaller_sizes(whole)}
    assert "v0 = x0.reshape(2, 2, 2) + x1" in found
    first = next(iter(steps.smaller_sizes(whole)))
    assert {s.shape for s in first.inputs.values()} == {(4, 2), (2,)}
    first.function()(*first.build())


def test_saved_values_become_drawn_ones_or_are_written_out(tmp_path: Path) -> None:
    file = tmp_path / "inputs.pt"
    torch.save([torch.tensor([1.5, 2.0]), torch.tensor([1, 0])], file)
    objects = {f"x{n}": f"torch.load({str(file)!r})[{n}].clone()" for n in range(2)}
    saved = Program({}, ("v0 = x0[x1]",), ("v0",), ("op",), objects)
    written = steps.literal_values(saved)
    assert written.objects["x0"] == (
        "torch.tensor([1.5, 2.0], dtype=torch.float32).reshape((2,))"
    )
    for one in (written, *steps.drawn_values(saved)):
        (result,) = one.function()(*one.build())
        assert result.shape == (2,)
    both = next(iter(steps.drawn_values(saved)))
    assert list(both.inputs) == ["x0"] and "arange" in both.objects["x1"]


def test_a_traced_graph_runs_with_numbers_for_its_indices(traced: Path) -> None:
    whole = read(traced).program
    assert steps.numbers_of(whole.inputs["x1"]).startswith("(torch.arange(4) % 2)")
