import json
from pathlib import Path

from compiler.frontend.trace import SUMMARY, Trace


def test_files_and_summary(tmp_path: Path) -> None:
    trace = Trace.begin(str(tmp_path / "new"), "forward")
    with trace.step("lower"):
        trace.write("kernels/a.cpp", "text")
    trace.facts["kernels"] = []
    trace.end()
    assert trace.folder is not None
    assert trace.folder.name.startswith("000-forward-")
    assert (trace.folder / "kernels" / "a.cpp").read_text() == "text"
    summary = json.loads((trace.folder / SUMMARY).read_text())
    assert summary["graph"] == "forward" and summary["kernels"] == []
    assert summary["seconds"]["lower"] >= 0


def test_each_graph_has_a_folder_of_its_own(tmp_path: Path) -> None:
    folders = {Trace.begin(str(tmp_path), "forward").folder for _ in range(3)}
    assert len(folders) == 3


def test_no_folder_no_files(tmp_path: Path) -> None:
    trace = Trace.begin(None, "forward")
    trace.write("a", "b")
    trace.end()
    assert trace.folder is None and not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_noted(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    trace = Trace.begin(str(file), "forward")
    assert trace.folder is None and "not written" in trace.facts["trace"]


def test_a_write_that_fails_ends_the_trace(tmp_path: Path) -> None:
    trace = Trace.begin(str(tmp_path), "forward")
    assert trace.folder is not None
    (trace.folder / "a").write_text("")
    trace.write("a/b", "text")
    assert trace.folder is None and "not complete" in trace.facts["trace"]
