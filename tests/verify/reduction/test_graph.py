from pathlib import Path

import pytest
import torch
from torch import fx

from verify.reduction import GraphError, read, save


def test_a_traced_graph_is_a_program(traced: Path) -> None:
    captured = read(traced)
    program = captured.program
    assert not captured.has_values
    assert program.inputs["x0"].strides == (1, 4)
    assert program.inputs["x1"].dtype == torch.int64
    assert program.lines[1] == (
        "v1 = torch.ops.aten.full.default([4, 6], -float('inf'), "
        "device=torch.device(type='cpu'))"
    )
    assert program.lines[-1] == "v8 = torch.ops.aten.index.Tensor(v7, [x1])"
    assert program.returns == ("v8", "v4", "x1")
    picked = torch.tensor([0, 1, 1, 0])
    x, b = torch.randn(4, 6), torch.randn(6)
    result, part, _ = program.function()(x, picked, b)
    torch.testing.assert_close(result, (x.exp().sin() + b).sum(1)[picked])
    torch.testing.assert_close(part, x.exp()[:, :3])


def test_a_saved_graph_has_its_values_and_constants(tmp_path: Path) -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.tensor([2.0, 3.0]))

        def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
            return (x * self.scale).roll(n).relu()

    x = torch.tensor([[1.0, -5.0]])
    save(fx.symbolic_trace(Model()), [x, 1], tmp_path)
    captured = read(tmp_path)
    program = captured.program
    assert captured.has_values and not program.inputs
    assert list(program.objects) == ["x0", "x1"]
    (result,) = program.function()(*program.build())
    torch.testing.assert_close(result, torch.tensor([[0.0, 2.0]]))


def test_random_operations_are_known(traced: Path) -> None:
    text = (traced / "graph.py").read_text()
    text = text.replace("exp.default(arg0_1)", "rand_like.default(arg0_1)")
    (traced / "graph.py").write_text(text)
    assert 0 in read(traced).program.random_places()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 +", "is no Python"),
        ("x = 1\n", "has no function forward"),
        ('class G:\n def forward(self, s: "Sym(s0)"):\n  return (s,)', "Sym"),
        ("class G:\n def forward(self):\n  return ()", "returns no tensor"),
        ("class G:\n def forward(self):\n  while 1: pass", "a statement 'while 1"),
        (
            'class G:\n def forward(self, a: "f32[2]"):\n  b = self.layer(a)\n'
            "  return (b,)",
            "calls a module",
        ),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "graph.py").write_text(text)
    with pytest.raises(GraphError, match=said):
        read(tmp_path)


def test_a_folder_of_graphs_is_told_from_one(traced: Path) -> None:
    with pytest.raises(GraphError, match=f"it has graphs in {traced.name}"):
        read(traced.parent)
