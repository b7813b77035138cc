"""A campaign's folder."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from verify.campaign.case import Case
from verify.campaign.store import Store


def test_a_corrupt_store_loses_only_what_is_corrupt(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add("aaa", {"title": "one"}, "def test(): ...")
    store.add("bbb", {"title": "two"}, None)
    (tmp_path / "finds" / "aaa.json").write_text("{ cut")
    (tmp_path / "workers" / "0.json").write_bytes(b"\x00\x01")
    assert [find["title"] for find in store.finds()] == ["two"]
    assert store.progress(0) == {}
    assert (tmp_path / "finds" / "test_aaa.py").exists()
    # what cannot be read is found again
    assert not store.known("aaa") and store.known("bbb")


def test_a_file_that_holds_something_else_is_no_find(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add("aaa", {"title": "one", "answer": {}, "case": {}}, None)
    wrong = ("[1]", "3", "{}", "null", '{"title": 2}', '{"title": "x", "case": []}')
    parts = ('"case": {"operations": 5}', '"answer": {"status": 3}')
    for number, text in enumerate((*wrong, *(f'{{"title": "x", {p}}}' for p in parts))):
        (tmp_path / "finds" / f"{number}.json").write_text(text)
        assert not store.known(str(number))
    (tmp_path / "finds" / "bytes.json").write_bytes(b"\xff\xfe\x00")
    assert [find["title"] for find in store.finds()] == ["one"]


def test_a_full_disk_delays_a_find_and_loses_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    write = Store._write

    def full(self: Store, path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "_write", full)
    store.add("aaa", {"title": "one"}, "def test(): ...")
    store.save_progress(0, {"programs": 3})
    assert store.known("aaa") and list(store.finds()) == []
    monkeypatch.setattr(Store, "_write", write)
    store.save_progress(0, {"programs": 3})
    assert [find["title"] for find in store.finds()] == ["one"]
    assert (tmp_path / "finds" / "test_aaa.py").exists()


def _died(path: Path) -> None:
    """Let a failing case's worker be a process that has ended."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    path.write_text(json.dumps({**json.loads(path.read_text()), "pid": dead.pid}))


def test_who_took_a_case_may_die_over_it_too(
    tmp_path: Path, case: Callable[..., Case]
) -> None:
    one = case("dynamo", "v0 = x0 + 1")
    store = Store(tmp_path)
    store.save_failing(one)
    for _ in range(3):
        (path,) = (tmp_path / "failing").iterdir()
        _died(path)
        assert list(store.take_failing()) == [one]
        assert list(Store(tmp_path).take_failing()) == []
    store.settle(one)
    assert list((tmp_path / "failing").iterdir()) == []


def test_what_a_dead_worker_was_shrinking_is_taken_up_once(
    tmp_path: Path, case: Callable[..., Case]
) -> None:
    one = case("dynamo", "v0 = x0 + 1")
    store = Store(tmp_path)
    store.save_failing(one)
    assert list(store.take_failing()) == []  # its worker, this process, is alive
    (path,) = (tmp_path / "failing").glob("*.json")
    _died(path)
    (tmp_path / "failing" / "bad.json").write_text("{ cut")
    assert list(store.take_failing()) == [one]
    assert list(Store(tmp_path).take_failing()) == []
    store.settle(one)
    assert [p.name for p in (tmp_path / "failing").iterdir()] == ["bad.broken"]
