import os
from pathlib import Path
from typing import BinaryIO

import pytest

from tilewright.cli.failures import InputError
from tilewright.cli.files import read_stream, read_text, write_text, write_whole


def test_written_whole_with_usual_rights(tmp_path: Path) -> None:
    path = tmp_path / "new.txt"
    write_text(path, "häh")
    assert read_text(path) == "häh"
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_a_broken_write_leaves_what_was_there(
    tmp_path: Path, error: BaseException
) -> None:
    path = tmp_path / "old.txt"
    path.write_text("old")

    def broken(file: BinaryIO) -> None:
        file.write(b"half")
        raise error

    expected = InputError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected):
        write_whole(path, broken)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    write_text(Path("/dev/null"), "text")
    assert Path("/dev/null").is_char_device()
    full = Path("/dev/full")
    if full.is_char_device():
        with pytest.raises(InputError, match="No space left"):
            write_text(full, "text")
        assert full.is_char_device()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "text")
    assert os.read(reader, 9) == b"text"
    os.close(reader)


def test_a_closed_stream_has_no_text() -> None:
    with pytest.raises(InputError, match="closed"):
        read_stream(None)
