"""Several processes on one GPU: they compile side by side, and each times alone.

``GPU_TURNS=FOLDER`` in the environment names a folder that the processes share; without
it there is one process, and nothing waits.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def beside() -> Iterator[None]:
    """Use the GPU beside others, but not while one of them is :func:`alone`."""
    with _locked("gate", fcntl.LOCK_EX):
        own = _locked("gpu", fcntl.LOCK_SH)
        own.__enter__()
    try:
        yield
    finally:
        own.__exit__(None, None, None)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Use the GPU alone: waits for those who use it, and nobody starts meanwhile."""
    with _locked("gate", fcntl.LOCK_EX), _locked("gpu", fcntl.LOCK_EX):
        yield


@contextlib.contextmanager
def _locked(name: str, kind: int) -> Iterator[None]:
    folder = os.environ.get("GPU_TURNS")
    if folder is None:
        yield
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    with Path(folder, name).open("w") as file:
        fcntl.flock(file, kind)
        yield
