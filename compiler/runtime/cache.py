"""Where built files live, and how they get there safely.

A file is named by the content that it was made from, so it never changes and needs no
lock: writers prepare it in a directory of their own and rename it into place. Readers
see all of it or nothing, and a killed writer leaves only an abandoned directory,
which later writers sweep away.
"""

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

_ABANDONED_SECONDS = 3600
_PREFIX = "building-"
_DIGEST = sha256().digest_size


def cache_directory() -> Path:
    """Return the directory for built files.

    ``$TILEWRIGHT_CACHE`` if set, else ``tilewright`` below ``$XDG_CACHE_HOME`` or
    ``~/.cache``. It need not exist.
    """
    chosen = os.environ.get("TILEWRIGHT_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tilewright"


def content_key(*parts: str) -> str:
    """Return a name for what is made from ``parts``, in this order.

    Example:
        >>> content_key("a", "b") == content_key("ab", "")
        False
    """
    digest = sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()[:32]


def cached_file(
    name: str, make: Callable[[Path], None], *, renew: bool = False
) -> Path:
    """Return the path of the cached file ``name``; make it if it is missing.

    Args:
        name: File name that starts with the key of the content.
        make: Writes the file to the path that it is given, in a fresh directory on
            the same file system.
        renew: Make it again, even if it is there.

    Returns:
        A path that exists. Where the cache directory cannot be written, or is full, it
        lies in a temporary directory: nothing is shared with other processes, and it
        is gone when this one ends.
    """
    directory = cache_directory()
    path = directory / name
    if path.exists() and not renew:
        return path
    try:
        directory.mkdir(parents=True, exist_ok=True)
        room = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=directory))
    except OSError:
        return _made_elsewhere(name, make)
    try:
        make(room / name)
        (room / name).replace(path)
    except OSError:
        return _made_elsewhere(name, make)
    finally:
        shutil.rmtree(room, ignore_errors=True)
        _sweep(directory)
    return path


def keep(name: str, content: bytes) -> bool:
    """Keep bytes for later processes; return whether there was room for them.

    What was kept under that name before is replaced at once: a reader gets all of the
    old or all of the new.

    Args:
        name: File name that starts with the key of the content.
        content: What :func:`kept` will return.
    """
    directory = cache_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        room = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=directory))
    except OSError:
        return False
    try:
        (room / name).write_bytes(sha256(content).digest() + content)
        (room / name).replace(directory / name)
    except OSError:
        return False
    finally:
        shutil.rmtree(room, ignore_errors=True)
        _sweep(directory)
    return True


def kept(name: str) -> bytes | None:
    """Return what was kept under a name; None where there is nothing whole.

    Bytes that a crash of the machine cut short, or anything else changed, are nothing.
    """
    try:
        content = (cache_directory() / name).read_bytes()
    except OSError:
        return None
    digest, content = content[:_DIGEST], content[_DIGEST:]
    return content if sha256(content).digest() == digest else None


def _made_elsewhere(name: str, make: Callable[[Path], None]) -> Path:
    room = Path(tempfile.mkdtemp(prefix="tilewright-"))
    atexit.register(shutil.rmtree, room, ignore_errors=True)
    make(room / name)
    return room / name


def _sweep(directory: Path) -> None:
    """Remove the rooms of writers that were killed long ago."""
    limit = time.time() - _ABANDONED_SECONDS
    for room in directory.glob(_PREFIX + "*"):
        try:
            abandoned = room.stat().st_mtime < limit
        except OSError:
            continue
        if abandoned:
            shutil.rmtree(room, ignore_errors=True)
