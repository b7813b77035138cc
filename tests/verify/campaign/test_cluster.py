"""A campaign on a cluster: a slice carries all it needs, all it found comes home."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from verify.campaign.case import Case
from verify.campaign.cluster import EngineError, Slice, hunt_with_dask, merge, run_slice
from verify.campaign.hunt import Campaign, Tally
from verify.campaign.store import Store

HERE = str(Path(__file__).parent)


def test_what_a_slice_found_is_merged_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    state = Tally(programs=7, batch=2).to_json()
    found = {
        "aaa": ({"title": "one"}, "def test(): ..."),
        "bbb": ({"title": "b"}, None),
    }
    merge(store, Slice(3, state, found))
    merge(store, Slice(4, {}, {"aaa": ({"title": "other"}, None)}))
    assert {find["title"] for find in store.finds()} == {"one", "b"}
    assert Tally.from_json(store.progress(3)).programs == 7
    assert (tmp_path / "finds" / "test_aaa.py").exists()


def test_without_dask_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineError, match=r"install tilewright\[cluster\]"):
        hunt_with_dask(Campaign("eager", tmp_path, 0.01))


@pytest.mark.slow
def test_a_slice_goes_on_from_its_state_and_looks_at_what_was_left(
    tmp_path: Path, case: Callable[..., Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", HERE)
    subject = "conftest:wrong_sin"
    left = case(subject, "v0 = torch.sin(x0)").to_json()
    campaign = Campaign(subject, tmp_path, 0.01, families=("views",))
    state = Tally(programs=10, batch=4).to_json()
    done = run_slice(campaign, 1, state, {}, [left])
    assert done.state["programs"] >= 10 and done.failing == []
    ((find, test),) = done.finds.values()
    assert find["case"]["lines"] == ["v0 = torch.sin(x0)"] and "def test_" in str(test)
    again = run_slice(campaign, 1, state, {k: v[0] for k, v in done.finds.items()})
    assert again.finds == {}
    assert list(tmp_path.iterdir()) == []  # nothing is shared


COMMAND = [
    *(sys.executable, "-m", "tilewright", "hunt", "--subject", "eager"),
    *("--engine", "dask", "--workers", "2", "--json"),
]


@pytest.mark.slow
def test_the_command_runs_on_a_local_cluster_and_resumes(
    tmp_path: Path, repository: Path
) -> None:
    words = [*COMMAND, "--minutes", "0.4", "--folder", str(tmp_path)]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=repository, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    first = [Tally.from_json(Store(tmp_path).progress(n)) for n in (0, 1)]
    assert all(tally.programs > 0 for tally in first)
    assert "unsteady draw" not in first[0].statuses


@pytest.mark.slow
def test_the_command_stops_cleanly(tmp_path: Path, repository: Path) -> None:
    # a shell that runs the tests in the background lets its children ignore Ctrl-C
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    child = subprocess.Popen(
        [*COMMAND, "--minutes", "10", "--folder", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=repository,
        start_new_session=True,
    )
    signal.signal(signal.SIGINT, before)
    try:
        deadline = time.monotonic() + 150
        while time.monotonic() < deadline and not Store(tmp_path).progress(0):
            time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=120)
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    assert child.returncode != 0 and "keeps what was found" in said, said
    assert Tally.from_json(Store(tmp_path).progress(0)).programs > 0
