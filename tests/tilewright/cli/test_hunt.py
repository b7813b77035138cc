"""Campaigns from the command line."""

import json
import sys
from pathlib import Path

import pytest

from tilewright.cli import main
from verify.campaign.case import Case
from verify.campaign.store import Store
from verify.strategies.programs import Program


def test_unknown_subjects_and_families_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ["--folder", str(tmp_path)]
    assert main(["hunt", "--subject", "nothing", *folder]) == 2
    assert "inductor" in capsys.readouterr().err
    assert main(["hunt", "--subject", "eager", "--families", "x", *folder]) == 2
    assert "pointwise" in capsys.readouterr().err


def test_unknown_kinds_and_engines_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["hunt", "--subject", "eager", "--folder", str(tmp_path)]
    assert main([*words, "--programs", "x"]) == 2
    assert "capture" in capsys.readouterr().err
    assert main([*words, "--engine", "x"]) == 2
    assert "dask" in capsys.readouterr().err


def test_an_engine_that_is_not_installed_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    words = ["hunt", "--subject", "eager", "--folder", str(tmp_path)]
    assert main([*words, "--engine", "dask"]) == 2
    assert "tilewright[cluster]" in capsys.readouterr().err


def test_a_library_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["hunt", "--subject", "cute_dsl", "--folder", str(tmp_path)]
    assert main([*words, "--path", str(tmp_path)]) == 2
    assert "nvidia-cutlass-dsl" in capsys.readouterr().err


@pytest.mark.slow
def test_a_hunt_in_a_library_counts_comparisons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["hunt", "--subject", "triton_layouts", "--minutes", "0.3", "--json"]
    assert main([*words, "--folder", str(tmp_path)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["compared"] == facts["statuses"]["ok"] > 0


def test_a_test_file_is_run_in_clean_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "test_one.py"
    file.write_text("def test_one():\n    assert 1 + 1 == 3\n")
    assert main(["reproduce", str(file), "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert (facts["runs"], facts["failed"]) == (1, 1)
    assert main(["reproduce", str(tmp_path / "missing.py")]) == 2


@pytest.mark.slow
def test_a_hunt_reports_what_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["hunt", "--subject", "eager", "--minutes", "0.3", "--json"]
    assert main([*words, "--folder", str(tmp_path)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["programs"] > 0 and facts["finds"] == [] and facts["waiting"] == 0


@pytest.mark.slow
def test_a_backend_that_is_not_there_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["hunt", "--subject", "no.such:thing", "--minutes", "0.02"]
    assert main([*words, "--folder", str(tmp_path)]) == 2
    assert "'no.such:thing' could not be imported" in capsys.readouterr().err


@pytest.mark.slow
def test_a_hunt_tells_what_killed_workers_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = Case(Program({}, ("v0 = torch.ones(2)",), ("v0",), ("ones",)), "eager")
    Store(tmp_path).save_failing(failing)  # of a process that is alive
    (tmp_path / "finds" / "cut.json").write_text('{"title": "x", "case": 3}')
    words = ["hunt", "--subject", "eager", "--minutes", "0.01"]
    assert main([*words, "--folder", str(tmp_path)]) == 0
    assert "1 failing, not made small yet" in capsys.readouterr().out
