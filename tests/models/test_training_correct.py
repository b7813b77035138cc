"""What judges a training step: it must see what is wrong, and nothing else."""

import importlib.util
from copy import deepcopy

import pytest
import torch
from torch import nn

from benchmarks.models_correct import Row as ModelRow
from benchmarks.models_correct import graphs_of_dynamo
from benchmarks.training_cases import CASES, batch_of, model_of, roughen
from benchmarks.training_correct_gpu import Row, Step, check, compare, exact_step, taken


class Small(nn.Module):
    """A linear layer in front of a batch norm, and one whose gradients are tiny."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 5)
        self.norm = nn.BatchNorm1d(5)
        self.last = nn.Linear(5, 4)
        self.scale = nn.Parameter(torch.full((4,), 1e-4))

    def forward(
        self, inputs: dict[str, torch.Tensor], labels: torch.Tensor
    ) -> torch.Tensor:
        """Return the loss."""
        scores = self.last(self.norm(self.first(inputs["x"]))).tanh() * self.scale
        return nn.functional.cross_entropy(scores.float(), labels)


BATCH = {"x": torch.linspace(-2, 3, 48).sin().reshape(8, 6)}, torch.arange(8) % 4


@pytest.fixture
def steps() -> tuple[Step, Step, Step, dict[str, torch.Tensor]]:
    """Return steps in float32 twice and in float64, and the weights before."""
    torch.manual_seed(0)
    model = Small()
    before = {name: w.detach().clone() for name, w in model.named_parameters()}
    ours, eager = (taken(deepcopy(model), BATCH) for _ in range(2))
    return ours, eager, exact_step(deepcopy(model), BATCH, 1), before


Steps = tuple[Step, Step, Step, dict[str, torch.Tensor]]


def test_eager_mode_is_right(steps: Steps) -> None:
    row = Row("small")
    compare(row, *steps)
    assert not row.faults
    assert set(row.measures) == {
        "loss",
        "gradients",
        "gradients_scaled",
        "changes",
        "changes_scaled",
        "buffers",
    }
    assert all(measure["size"] for measure in row.measures.values())
    assert row.vanishing == ["first.bias"]  # the norm takes it out
    assert row.numbers == sum(weight.numel() for weight in steps[3].values())


@pytest.mark.parametrize(
    "where", ["gradients", "weights", "buffers", "loss", "tiny", "unmoved"]
)
def test_what_is_wrong_is_seen(steps: Steps, where: str) -> None:
    ours, _, _, before = steps
    if where == "loss":
        ours.loss *= 1 + 1e-5
    elif where == "tiny":  # lost among all numbers, seen when scaled
        ours.gradients["first.weight"] *= 1.001
    elif where == "unmoved":
        ours.weights.update(before)
    else:
        named = {
            "gradients": ours.gradients["last.weight"],
            "weights": ours.weights["norm.bias"],
            "buffers": ours.buffers["norm.running_var"],
        }
        with torch.no_grad():
            named[where].view(-1)[1] *= 1.01
    row = Row("small")
    compare(row, *steps)
    assert row.faults
    if where == "tiny":
        assert any("gradients_scaled" in fault for fault in row.faults)
        assert all("first.weight" in fault for fault in row.faults)


@pytest.mark.parametrize("kind", ["missing", "type", "strides", "NaN"])
def test_other_kinds_are_seen(steps: Steps, kind: str) -> None:
    gradients = steps[0].gradients
    name = "last.weight"
    if kind == "missing":
        del gradients[name]
    elif kind == "type":
        gradients[name] = gradients[name].double()
    elif kind == "strides":
        gradients[name] = gradients[name].t().contiguous().t()
    else:
        gradients[name][0] = torch.nan
    row = Row("small")
    compare(row, *steps)
    assert any(name in fault for fault in row.faults)


def test_a_weight_without_gradients_tests_nothing(steps: Steps) -> None:
    for step in steps[:3]:
        step.gradients["last.weight"].zero_()
    row = Row("small")
    compare(row, *steps)
    assert any("nothing is tested" in fault for fault in row.faults)


def test_float64_stays_float64_where_float32_is_asked_for() -> None:
    torch.manual_seed(0)
    step = exact_step(Small(), BATCH, 1)
    torch.manual_seed(0)
    model, (inputs, labels) = Small().double(), BATCH
    scores = model.last(model.norm(model.first(inputs["x"].double()))).tanh()
    nn.functional.cross_entropy(scores * model.scale, labels).backward()
    wanted = model.last.weight.grad
    assert wanted is not None
    torch.testing.assert_close(
        step.gradients["last.weight"], wanted, rtol=1e-13, atol=0
    )


@pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None,
    reason="transformers is not installed",
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_pieces_of_a_batch_give_the_gradients_of_the_whole() -> None:
    case = CASES["distilbert"]
    model, batch = model_of(case, tiny=True), batch_of(case, tiny=True)
    whole, parts = (exact_step(deepcopy(model), batch, n) for n in (1, 2))
    torch.testing.assert_close(whole.loss, parts.loss, rtol=1e-13, atol=0)
    for name, gradient in whole.gradients.items():
        torch.testing.assert_close(
            parts.gradients[name], gradient, rtol=1e-9, atol=1e-15
        )


def test_no_weight_is_constant() -> None:
    torch.manual_seed(0)
    last = nn.Linear(4, 4)
    nn.init.zeros_(last.weight)
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), last)
    roughen(model)
    for weight in model.parameters():
        assert len(weight.unique()) > 1


def test_cases_are_the_fourteen() -> None:
    assert len(CASES) == 14
    assert sum(case.config == "" for case in CASES.values()) == 6
    assert all(case.batch[0] in (4, 8, 16, 32, 64) for case in CASES.values())


def test_graphs_are_dynamos() -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        return x * 2 if x.sum() > 0 else x * 3

    one, two = torch.nn.Identity(), broken
    x = torch.ones(3)
    assert graphs_of_dynamo(lambda ready: ready(x + 0), one) <= 1
    assert graphs_of_dynamo(lambda ready: ready(x), two) == 2
    assert ModelRow("any").dynamo_graphs is None


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None,
    reason="transformers is not installed",
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_small_model_trains() -> None:
    row = check(CASES["gpt2"], "cpu", tiny=True)
    assert not row.faults
    assert row.graphs == row.step_graphs == 1
