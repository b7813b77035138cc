"""C++ text to a loaded library."""

from pathlib import Path

import pytest

from compiler.errors import BuildError
from compiler.runtime.build import (
    compiler_identity,
    find_compiler,
    kept_library,
    load_library,
)

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


@pytest.mark.parametrize("kept", [0, 31, 4096, 13_000, -1])
def test_a_library_that_was_cut_short_is_built_again(
    directory: Path, kept: int
) -> None:
    name = f"cut{kept}".replace("-", "_")
    source = SOURCE.replace("seven", name)
    path = Path(load_library(name, source)._name)
    whole = path.read_bytes()
    path.unlink()  # a library that is loaded must not change
    path.write_bytes(whole[:kept])
    assert getattr(load_library(name, source), name)() == 7
    assert path.read_bytes() == whole


def test_no_room_is_an_error_that_says_so(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("compiler.runtime.build._compile", full)
    with pytest.raises(BuildError, match="No space left on device; free some space"):
        load_library("none", SOURCE)
    assert list(directory.iterdir()) == []


def test_a_refused_source_shows_the_first_error(directory: Path) -> None:
    with pytest.raises(BuildError, match=r"error: .*nonsense") as caught:
        load_library("bad", "nonsense here;")
    assert "-O3" in caught.value.facts["command"]
    assert list(directory.iterdir()) == []


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    with pytest.raises(BuildError, match="CXX='/nowhere/g\\+\\+' is not on the PATH"):
        find_compiler()


def test_a_library_is_found_by_its_name_without_a_compiler(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(load_library("seven", SOURCE.replace("seven", "kept"))._name)
    assert compiler_identity()
    monkeypatch.setenv("CXX", "/nowhere/g++")
    assert compiler_identity() == ""
    assert kept_library(path.name).kept() == 7
    with pytest.raises(OSError):
        kept_library("missing.so")
    whole = path.read_bytes()
    (directory / "cut.so").write_bytes(whole[:-40])
    with pytest.raises(OSError, match="not whole"):
        kept_library("cut.so")
