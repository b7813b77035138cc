"""Batches in this process, with the planted library in the catalogue."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verify.libraries import child
from verify.libraries.operation import Library


@pytest.fixture
def message(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    planted: Callable[..., Library],
) -> dict[str, Any]:
    monkeypatch.setattr(child, "library", lambda name: planted(40))
    place = tmp_path / "progress"
    place.write_bytes(bytes(8))
    return {
        "library": "planted",
        "seed": 1,
        "start": 0,
        "stop": 300,
        "seconds": 20.0,
        "progress": str(place),
        "muted": [],
    }


def test_a_batch_counts_what_it_did(message: dict[str, Any]) -> None:
    answer = child.batch(message)
    assert answer["next"] == 300
    assert answer["counts"] == {"add": {"ok": 300}}
    assert answer["failures"] == []
    assert struct.unpack("q", Path(message["progress"]).read_bytes()) == (299,)


def test_failures_are_told_a_few_times(
    message: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    planted: Callable[..., Library],
) -> None:
    monkeypatch.setattr(child, "library", lambda name: planted(96))
    answer = child.batch(message)
    assert len(answer["failures"]) == child.KEPT
    assert answer["counts"]["add"]["mismatch"] > child.KEPT


def test_what_is_muted_is_left_out(message: dict[str, Any]) -> None:
    message["muted"] = ["add"]
    assert child.batch(message)["counts"] == {}


def test_time_ends_a_batch(message: dict[str, Any]) -> None:
    message["seconds"] = 0.0
    assert child.batch(message)["next"] == 0
