import os
from pathlib import Path
from typing import BinaryIO

import pytest

from tilewright.cli.failures import InputError
from tilewright.cli.files import read_text, write_text, write_whole


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
