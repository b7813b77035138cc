"""From C++ text to functions that Python can call.

A library ends with a digest of itself: one that was cut short by a crash of the machine
would end the process when it is loaded, so it is built again.

The library's name is a hash of the source, the flags, the compiler and the processor,
because ``-march=native`` makes code for this processor only.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from compiler.errors import BuildError

from .cache import cache_directory, cached_file, content_key

_DIGEST: Final = hashlib.sha256().digest_size

FLAGS: Final = (
    "-std=c++17",
    "-O3",
    "-march=native",
    "-fopenmp",
    "-shared",
    "-fPIC",
)


def load_library(
    name: str,
    source: str,
    flags: tuple[str, ...] = FLAGS,
    libraries: tuple[str, ...] = (),
) -> ctypes.CDLL:
    """Build ``source`` unless the cache has it, and load it.

    Args:
        name: A word for the file name.
        source: C++ text whose entry points are ``extern "C"``.
        flags: Options for the compiler.
        libraries: Options that name libraries; they go after the source.

    Raises:
        BuildError: There is no compiler, or it refuses the source; has ``command``
            and ``output``.

    Example:
        >>> one = load_library("one", 'extern "C" int one() { return 1; }')
        >>> one.one()
        1
    """
    compiler = find_compiler()
    key = content_key(source, *flags, *libraries, _identity(compiler), processor())
    file_name = f"{key}-{name}.so"

    def make(path: Path) -> None:
        _compile(compiler, source, flags, libraries, path)
        code = path.read_bytes()
        path.write_bytes(code + hashlib.sha256(code).digest())

    try:
        path = cached_file(file_name, make)
        if not _is_whole(path):
            path = cached_file(file_name, make, renew=True)
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise BuildError(
            f"{name} had to be built in {cache_directory()} or a temporary folder: "
            f"{error}; free some space, or set TILEWRIGHT_CACHE to another folder",
            command=compiler,
            output=str(error),
        ) from error


def _is_whole(path: Path) -> bool:
    content = path.read_bytes()
    return hashlib.sha256(content[:-_DIGEST]).digest() == content[-_DIGEST:]


def kept_library(name: str) -> ctypes.CDLL:
    """Load a library that :func:`load_library` built, by its file's name.

    Starts no compiler, and needs none.

    Raises:
        OSError: It is not in the cache, not whole, or cannot be loaded.
    """
    path = cache_directory() / name
    facts = path.stat()
    return _opened(str(path), facts.st_size, facts.st_mtime_ns)


@lru_cache
def _opened(path: str, size: int, time: int) -> ctypes.CDLL:
    """Load a library; size and time tell files of one name apart."""
    if not _is_whole(Path(path)):
        raise OSError(f"{path} is not whole")
    return ctypes.CDLL(path)


def compiler_identity() -> str:
    """Return what changes when the compiler is replaced, "" where there is none."""
    try:
        return _identity(find_compiler())
    except (BuildError, OSError):
        return ""


def find_compiler() -> str:
    """Return the path of the C++ compiler: ``$CXX``, or g++ on the PATH.

    Raises:
        BuildError: There is none.
    """
    wanted = os.environ.get("CXX") or "g++"
    found = shutil.which(wanted)
    if found is None:
        raise BuildError(
            f"a C++ compiler was needed, but CXX={wanted!r} is not on the PATH; "
            "install g++ or set CXX to a compiler with OpenMP",
            command=wanted,
            output="",
        )
    return found


def _compile(
    compiler: str,
    source: str,
    flags: tuple[str, ...],
    libraries: tuple[str, ...],
    path: Path,
) -> None:
    text = path.with_suffix(".cpp")
    text.write_text(source)
    command = [compiler, *flags, str(text), *libraries, "-o", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not path.exists():
        lines = done.stderr.strip().splitlines() or ["no message"]
        words = "error", "failed", "No space"
        first = next((s for s in lines if any(word in s for word in words)), lines[0])
        raise BuildError(
            f"the C++ compiler had to build {text.name}, but {compiler} returned "
            f"status={done.returncode}: {first.strip()}; set CXX to a g++ that "
            "knows -std=c++17 and -fopenmp",
            command=" ".join(command),
            output=done.stderr,
        )


def _identity(compiler: str) -> str:
    """Return what changes when the compiler is replaced."""
    path = os.path.realpath(compiler)
    status = os.stat(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}"


@cache
def processor() -> str:
    """Return what ``-march=native`` depends on, as text."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    facts = ("model name", "flags", "Features", "CPU part", "CPU implementer")
    seen = {line for line in lines if line.startswith(facts)}
    return platform.machine() + "\n".join(sorted(seen))
