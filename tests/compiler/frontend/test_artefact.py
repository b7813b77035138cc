import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from compiler.errors import CompileError
from compiler.frontend.artefact import load, save

# torch.export uses what torch deprecates
pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.norm = torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor, *, scale: torch.Tensor) -> dict[str, Any]:
        y = torch.relu(self.norm(self.conv(x)))
        z = self.head(y.mean((2, 3)))
        return {"logits": z * scale, "rest": (z.softmax(-1), [y])}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    torch.manual_seed(0)
    model = Model().eval()
    x, scale = torch.randn(2, 3, 8, 8), torch.tensor(3.0)
    program = torch.export.export(model, (x,), {"scale": scale})
    path = tmp_path_factory.mktemp("artefact") / "model.tw"
    save(program, path)
    return path, (x, scale), model(x, scale=scale)


def test_it_gives_the_models_results(saved: tuple[Path, Any, Any]) -> None:
    path, (x, scale), wanted = saved
    run = load(path)
    for _ in range(2):
        torch.testing.assert_close(run(x, scale=scale), wanted)


def test_weights_are_frozen(saved: tuple[Path, Any, Any]) -> None:
    with zipfile.ZipFile(saved[0]) as archive:
        wrapper = archive.read("wrapper.py").decode()
        facts = json.loads(archive.read("facts.json"))
    assert "batch_norm" not in wrapper
    assert len(facts["weights"]) == 4


@pytest.mark.slow
def test_it_runs_without_a_compiler(
    saved: tuple[Path, Any, Any], tmp_path: Path, repository: Path
) -> None:
    path, (x, scale), wanted = saved
    torch.save((x, scale, wanted), tmp_path / "data.pt")
    program = (
        "import sys, torch; from pathlib import Path\n"
        "from compiler.frontend.artefact import load\n"
        f"x, scale, wanted = torch.load({str(tmp_path / 'data.pt')!r})\n"
        f"run = load(Path({str(path)!r}))\n"
        "torch.testing.assert_close(run(x, scale=scale), wanted)\n"
    )
    environment = {
        **os.environ,
        "CXX": "/nowhere",
        "TILEWRIGHT_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": str(repository),
    }
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert not (tmp_path / "cache").exists()


def test_other_arguments_are_refused(saved: tuple[Path, Any, Any]) -> None:
    path, (x, _), _ = saved
    with pytest.raises(TypeError, match="exported form"):
        load(path)(x)


@pytest.mark.parametrize("fact", ["torch", "processor"])
def test_another_machine_is_refused(
    saved: tuple[Path, Any, Any], tmp_path: Path, fact: str
) -> None:
    changed = tmp_path / "changed.tw"
    with zipfile.ZipFile(saved[0]) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "facts.json":
                content = json.dumps({**json.loads(content), fact: "other"}).encode()
            new.writestr(name, content)
    with pytest.raises(CompileError, match=f"another {fact}"):
        load(changed)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.tw"
    with pytest.raises(CompileError, match="a file that save wrote"):
        load(path)
    path.write_text("no")
    with pytest.raises(CompileError, match="a file that save wrote"):
        load(path)


def test_a_program_that_changes_its_weights_is_refused(tmp_path: Path) -> None:
    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.total = torch.nn.Buffer(torch.zeros(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total.add_(x)
            return self.total * 2

    program = torch.export.export(Counter(), (torch.ones(2),))
    with pytest.raises(CompileError, match="changes nothing"):
        save(program, tmp_path / "counter.tw")
