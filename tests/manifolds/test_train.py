import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from manifolds.train import report, train
from manifolds.training import Outcome
from manifolds.training.log import CSV, PLOT, read

SMALL = ["--length", "3", "--hidden", "6", "--batch", "2"]


def invoke(*arguments: str) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(train)
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


def test_a_run_from_the_command_line(tmp_path: Path) -> None:
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    for out, model in ((one, "dtriv"), (other, "lstm")):
        code, text = invoke(
            "copying", *SMALL, "--model", model, "--iterations", "3", "--out", out,
            *(["--compare", one] if model == "lstm" else []),
        )  # fmt: skip
        assert code == 0, text
        assert "3 steps" in text
        assert "of the baseline" in text
    assert (tmp_path / "other" / PLOT).is_file()


def test_mistakes_are_printed(tmp_path: Path) -> None:
    code, text = invoke("sorting", "--out", str(tmp_path))
    assert code == 2
    assert "task='sorting'" in text
    code, text = invoke("mnist", "--out", str(tmp_path))
    assert code == 2
    assert "--data-dir" in text


def test_reports_have_the_test_result() -> None:
    console = Console(record=True, width=200, file=open(os.devnull, "w"))  # noqa: SIM115
    report(Outcome(5, 0.1, 1.0, 0.75, 1e-6, 2.0), Path("runs/x"), console)
    assert "test 0.7500" in console.export_text()
    console.file.close()


@pytest.mark.slow
def test_a_killed_process_goes_on(tmp_path: Path, repository: Path) -> None:
    """SIGKILL in the middle; the same command then gives the whole run's numbers."""

    def command(out: str) -> list[str]:
        return [
            sys.executable, "-m", "manifolds.train", "copying", *SMALL,
            "--iterations", "400", "--save-every", "10", "--out", str(tmp_path / out),
        ]  # fmt: skip

    environment = dict(os.environ, OMP_NUM_THREADS="1")

    def finish(out: str) -> None:
        subprocess.run(
            command(out),
            cwd=repository,
            env=environment,
            check=True,
            capture_output=True,
        )

    finish("whole")
    with subprocess.Popen(
        command("killed"),
        cwd=repository,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while len(read(tmp_path / "killed" / CSV)) < 35 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert len(read(tmp_path / "killed" / CSV)) < 400
    finish("killed")
    whole, killed = (read(tmp_path / name / CSV) for name in ("whole", "killed"))
    assert [row.loss for row in whole] == [row.loss for row in killed]


def test_folders_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    file = tmp_path / "file[1]"
    file.touch()
    code, text = invoke("copying", *SMALL, "--iterations", "1", "--out", str(file))
    assert code == 2
    assert f"{file} cannot be written" in text
    lost = tmp_path / "lost"
    code, text = invoke(
        "copying", *SMALL, "--iterations", "1", "--out", str(tmp_path / "run"),
        "--compare", str(lost),
    )  # fmt: skip
    assert code == 2
    assert f"{lost / CSV}" in text
    assert not (tmp_path / "run").exists()


def test_an_interrupted_run_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("manifolds.train.run", stop)
    code, text = invoke("copying", *SMALL, "--out", str(tmp_path))
    assert code == 130
    assert "the same command goes on" in text
    assert "Traceback" not in text
