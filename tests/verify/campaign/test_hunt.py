"""A campaign finds a planted fault, resumes, and is silent about a right backend."""

from pathlib import Path

import pytest

from verify.campaign.hunt import Campaign, Tally, work
from verify.campaign.store import Store

HERE = str(Path(__file__).parent)


def test_a_tally_survives_json_and_starts_anew_from_rubbish() -> None:
    tally = Tally(programs=3, batch=1, pairs={"a b"}, seconds=2.0)
    tally.statuses["ok"] += 3
    assert Tally.from_json(tally.to_json()) == tally
    assert Tally.from_json({"programs": "x"}) == Tally()
    for part, wrong in (("statuses", {"ok": "x"}), ("symptoms", 3), ("features", [1])):
        assert Tally.from_json({**tally.to_json(), part: wrong}) == Tally()


@pytest.mark.slow
def test_a_planted_fault_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", HERE)
    wrong = Campaign("conftest:wrong_sin", tmp_path, 1.0, families=("pointwise",))
    first = work(wrong, 0)
    found = list(Store(tmp_path).finds())
    assert len(found) == 1, found
    assert "torch.sin" in found[0]["case"]["lines"][-1]
    assert len(found[0]["case"]["lines"]) == 1
    again = work(Campaign("conftest:wrong_sin", tmp_path, 0.05), 0)
    assert again.programs >= first.programs


@pytest.mark.slow
def test_eager_mode_agrees_with_itself(tmp_path: Path) -> None:
    tally = work(Campaign("eager", tmp_path, 0.5), 0)
    assert set(tally.statuses) <= {"ok", "skip"}
    assert tally.statuses["ok"] > 20
