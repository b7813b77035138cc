"""C++ text to a loaded library."""

from pathlib import Path

import pytest

from compiler.errors import BuildError
from compiler.runtime.build import find_compiler, load_library

SOURCE = 'extern "C" int seven() { return 7; }'


@pytest.fixture
def directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    return tmp_path


def test_built_once_and_loaded(directory: Path) -> None:
    assert load_library("seven", SOURCE).seven() == 7
    (built,) = directory.iterdir()
    stamp = built.stat().st_mtime_ns
    assert load_library("seven", SOURCE).seven() == 7
    assert built.stat().st_mtime_ns == stamp


def test_a_torn_file_is_built_again(directory: Path) -> None:
    path = Path(load_library("torn", SOURCE.replace("seven", "torn"))._name)
    other = SOURCE.replace("seven", "torn_again")
    path.unlink()
    load_library("torn", other)
    (built,) = directory.iterdir()
    fresh = built.with_name("copy")
    built.rename(fresh)
    built.write_bytes(b"not a library")
    assert load_library("torn", other).torn_again() == 7


def test_a_refused_source_shows_the_first_error(directory: Path) -> None:
    with pytest.raises(BuildError, match=r"error: .*nonsense") as caught:
        load_library("bad", "nonsense here;")
    assert "-O3" in caught.value.facts["command"]
    assert list(directory.iterdir()) == []


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    with pytest.raises(BuildError, match="CXX='/nowhere/g\\+\\+' is not on the PATH"):
        find_compiler()
