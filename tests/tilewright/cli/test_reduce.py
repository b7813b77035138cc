"""Failing graphs made small from the command line."""

import json
from pathlib import Path

import pytest

from tilewright.cli import main

GRAPH = """class G(torch.nn.Module):
    def forward(self, a: "f32[8]"):
        b = torch.ops.aten.exp.default(a)
        c = torch.ops.aten.add.Tensor(b, 1)
        return (c,)
"""


def test_what_is_no_graph_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reduce", str(tmp_path)]) == 2
    assert "a folder with graph.py was needed" in capsys.readouterr().err
    (tmp_path / "graph.py").write_text(GRAPH)
    assert main(["reduce", str(tmp_path), "--subject", "nothing"]) == 2
    assert "inductor" in capsys.readouterr().err


@pytest.mark.slow
def test_a_graph_that_does_not_fail_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "graph.py").write_text(GRAPH)
    assert main(["reduce", str(tmp_path), "--subject", "aot_eager", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert not facts["fails"] and "does not fail with aot_eager" in facts["why"]


@pytest.mark.slow
def test_a_fault_of_the_compiler_on_a_traced_model_is_reduced(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import torch

    traces = tmp_path / "traces"
    monkeypatch.setenv("TILEWRIGHT_TRACE", str(traces))
    model = torch.nn.Sequential(
        torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32)
    )
    with torch.no_grad():
        torch.compile(model, backend="tilewright")(torch.randn(4, 16))
    monkeypatch.delenv("TILEWRIGHT_TRACE")
    (folder,) = traces.iterdir()
    fault = "verify.mutants.compiler.subject:lanes_are_joined_once_more"
    words = ["reduce", str(folder), "--subject", fault, "--json"]
    assert main(words) == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["fails"] and facts["lines"] <= 2, facts
    assert "native_layer_norm" in Path(facts["file"]).read_text()
