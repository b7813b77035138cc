"""A campaign outlives crashes and hangs, keeps each fault once, and goes on."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from verify.campaign.process import SubjectProcess
from verify.campaign.store import Store
from verify.libraries import campaign as module
from verify.libraries.campaign import LibraryCampaign, LibraryTally, UnavailableError
from verify.libraries.catalogue import LIBRARIES, library
from verify.libraries.operation import Library

HERE = str(Path(__file__).parent)
RUNNER = """
import conftest
from verify.libraries import child
child.library = lambda name: conftest.PLANTED
child.main()
"""


@pytest.fixture
def hunted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    planted: Callable[..., Library],
) -> LibraryCampaign:
    """A campaign whose process knows the planted library."""
    monkeypatch.setattr(module, "library", lambda name: planted())
    (tmp_path / "planted_child.py").write_text(RUNNER)
    path = f"{tmp_path}:{HERE}"
    made = SubjectProcess

    def started(timeout: float, environment: dict[str, str], **rest: object) -> object:
        return made(20.0, environment, 1 << 30, "planted_child")

    monkeypatch.setattr(module, "SubjectProcess", started)
    return LibraryCampaign("planted", tmp_path / "hunt", 0.4, path=path)


@pytest.mark.slow
def test_each_planted_fault_is_found_once(hunted: LibraryCampaign) -> None:
    tally = module.Worker(hunted).run()
    found = {find["answer"]["status"]: find for find in Store(hunted.folder).finds()}
    assert {"mismatch", "error", "died"} <= set(found)
    assert found["mismatch"]["case"]["arguments"] == "(41, 3)"
    assert found["died"]["case"]["arguments"] == "(97, 0)"
    assert tally.compared > 100
    again = module.Worker(hunted)
    assert again.tally.next == tally.next
    assert len(list(Store(hunted.folder).finds())) == len(found)


def test_a_tally_survives_json_and_starts_anew_from_rubbish() -> None:
    tally = LibraryTally(next=7, seconds=1.5)
    tally.done["x"] += 1
    tally.deaths["add"] += 1
    assert LibraryTally.from_json(tally.to_json()) == tally
    assert LibraryTally.from_json({"next": "x"}) == LibraryTally()


@pytest.mark.skipif("cutlass" in sys.modules, reason="the package is there")
def test_a_library_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "cute_dsl" in LIBRARIES
    campaign = LibraryCampaign("cute_dsl", tmp_path, 0.1)
    with pytest.raises(UnavailableError, match="nvidia-cutlass-dsl"):
        module.Worker(campaign).run()
    assert library("cute_dsl").package == "nvidia-cutlass-dsl"
