"""Built files: named by content, whole or absent."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from compiler.runtime.cache import (
    cache_directory,
    cached_file,
    content_key,
    keep,
    kept,
)


@pytest.fixture
def directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", "/a")
    assert cache_directory() == Path("/a")
    monkeypatch.delenv("TILEWRIGHT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/b")
    assert cache_directory() == Path("/b/tilewright")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache_directory() == Path.home() / ".cache" / "tilewright"


def test_keys_tell_parts_apart() -> None:
    assert content_key("ab", "c") != content_key("a", "bc")
    assert content_key("a") == content_key("a")


def test_made_once(directory: Path) -> None:
    made: list[Path] = []

    def make(path: Path) -> None:
        made.append(path)
        path.write_text("x")

    first, second = cached_file("k", make), cached_file("k", make)
    assert first == second == directory / "k" and len(made) == 1
    cached_file("k", make, renew=True)
    assert len(made) == 2
    assert [path.name for path in directory.iterdir()] == ["k"]


def test_a_failure_leaves_nothing(directory: Path) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        cached_file("k", fail)
    assert list(directory.iterdir()) == []


def test_abandoned_rooms_are_swept_and_fresh_ones_kept(directory: Path) -> None:
    directory.mkdir()
    old, fresh = directory / "building-old", directory / "building-fresh"
    old.mkdir()
    fresh.mkdir()
    os.utime(old, (time.time() - 9000,) * 2)
    cached_file("k", lambda path: path.touch())
    assert {path.name for path in directory.iterdir()} == {"building-fresh", "k"}


def test_a_directory_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocker = tmp_path / "file"
    blocker.touch()
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(blocker / "below"))
    path = cached_file("k", lambda path: path.touch())
    assert path.exists() and blocker not in path.parents


def test_a_full_directory(directory: Path) -> None:
    def make(path: Path) -> None:
        if directory in path.parents:
            raise OSError(28, "No space left on device")
        path.write_text("x")

    path = cached_file("k", make)
    assert path.read_text() == "x" and directory not in path.parents
    assert list(directory.iterdir()) == []


def test_what_is_made_elsewhere_is_gone_in_the_end(repository: Path) -> None:
    script = (
        "from compiler.runtime.cache import cached_file\n"
        "print(cached_file('k', lambda path: path.touch()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={
            **os.environ,
            "PYTHONPATH": str(repository),
            "TILEWRIGHT_CACHE": "/dev/null/k",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    path = Path(done.stdout.strip())
    assert path.name == "k" and not path.parent.exists()


def test_concurrent_and_killed_writers(directory: Path, repository: Path) -> None:
    """Eight processes write one file; four are killed in the middle."""
    script = textwrap.dedent("""
        import os, sys, time
        from compiler.runtime.cache import cached_file
        def make(path):
            with path.open("w") as file:
                file.write("a" * 1000)
                file.flush()
                if sys.argv[1] == "die":
                    os._exit(9)
                time.sleep(0.05)
                file.write("b" * 1000)
        assert len(cached_file("k", make).read_text()) == 2000
    """)
    environment = {**os.environ, "PYTHONPATH": str(repository)}
    writers = [
        subprocess.Popen([sys.executable, "-c", script, fate], env=environment)
        for fate in ("die", "live") * 4
    ]
    codes = [writer.wait(timeout=60) for writer in writers]
    assert codes[1::2] == [0, 0, 0, 0] and set(codes[::2]) <= {0, 9}
    assert len((directory / "k").read_text()) == 2000


def test_what_is_kept_is_whole_or_nothing(directory: Path) -> None:
    assert kept("k") is None
    assert keep("k", b"content") and kept("k") == b"content"
    assert keep("k", b"") and kept("k") == b""
    assert [path.name for path in directory.iterdir()] == ["k"]
    keep("k", b"content")
    whole = (directory / "k").read_bytes()
    for damaged in (whole[:-1], whole + b"x", b"", whole[:7], whole[::-1]):
        (directory / "k").write_bytes(damaged)
        assert kept("k") is None


def test_where_nothing_can_be_kept(
    monkeypatch: pytest.MonkeyPatch, directory: Path, tmp_path: Path
) -> None:
    directory.mkdir()
    (directory / "k").mkdir()  # cannot be replaced by a file
    assert not keep("k", b"content") and kept("k") is None
    (tmp_path / "file").touch()
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "file" / "below"))
    assert not keep("k", b"content") and kept("k") is None


def test_writers_of_one_name_leave_one_of_them_whole(
    directory: Path, repository: Path
) -> None:
    """Six processes keep one name at once, two are killed between write and rename."""
    script = textwrap.dedent("""
        import os, sys
        from pathlib import Path
        from compiler.runtime.cache import keep, kept
        if sys.argv[1] == "die":
            Path.replace = lambda *args: os._exit(9)
        for _ in range(50):
            keep("k", sys.argv[1].encode() * 20000)
            assert kept("k")[:4] in (b"one!", b"two!")
    """)
    environment = {**os.environ, "PYTHONPATH": str(repository)}
    keep("k", b"one!")
    writers = [
        subprocess.Popen([sys.executable, "-c", script, fate], env=environment)
        for fate in ("one!", "die", "two!") * 2
    ]
    codes = [writer.wait(timeout=60) for writer in writers]
    assert codes == [0, 9, 0] * 2
    assert kept("k") in (b"one!" * 20000, b"two!" * 20000)
