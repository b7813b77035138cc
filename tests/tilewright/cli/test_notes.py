from pathlib import Path

import pytest

from tilewright.cli import notes
from tilewright.cli.failures import InputError

RECORD = {"name": "a", "statement": "a holds", "verdict": "proved"}


def test_a_note_counts_for_the_sources_that_it_was_made_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notes"
    assert notes.noted(path) == {}
    notes.note(path, RECORD)
    notes.note(path, {**RECORD, "name": "b", "verdict": "unknown"})
    assert notes.noted(path) == {("a", "a holds"): RECORD}
    monkeypatch.setattr(notes, "sources", lambda: "other")
    assert notes.noted(path) == {}


def test_no_file_no_notes(tmp_path: Path) -> None:
    notes.note(None, RECORD)
    assert notes.noted(None) == {}
    path = tmp_path / "note"
    path.write_text("[1]\n")
    with pytest.raises(InputError, match="line 1"):
        notes.noted(path)
