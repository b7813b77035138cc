"""A campaign's folder."""

from pathlib import Path

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
