"""What every test folder shares: a repeatable hypothesis, and the skip without GPU."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
# Tracing doubles the time of a test: only those of the algebra cover the algebra.
COVERING = (ROOT / "algebra", ROOT / "tests" / "algebra")

settings.register_profile(
    "repeatable",
    max_examples=60,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the programs that tests run in a child process."""
    name = collection_path.name
    return (name.endswith(".py") and not name.startswith("test_")) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    needs_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if needs_gpu and not has_cuda():
        for item in needs_gpu:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))
    for item in items:
        if not any(folder in item.path.parents for folder in COVERING):
            item.add_marker("no_cover")


def has_cuda() -> bool:
    import torch

    return torch.cuda.is_available()


@pytest.fixture(autouse=True)
def poisoned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill arrays that compiled programs make on the CPU with NaN before they run.

    The memory of a result that an earlier, right run let go of would hide that parts
    of it are not written.
    """
    wrapper = sys.modules.get("compiler.runtime.wrapper")
    if wrapper is None:
        return
    import torch

    make = wrapper.RUNTIME["empty_strided_cpu"]

    def poisoned(*arguments: Any) -> torch.Tensor:
        made: torch.Tensor = make(*arguments)
        torch.empty(0, dtype=torch.uint8).set_(made.untyped_storage()).fill_(255)
        return made

    monkeypatch.setitem(wrapper.RUNTIME, "empty_strided_cpu", poisoned)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def committed(repository: Path) -> list[Path]:
    """The files that git knows, relative to the root."""
    if not (repository / ".git").exists():
        pytest.skip("not a git checkout")
    listing = subprocess.run(
        ["git", "ls-files", "-z"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    )
    names = filter(None, listing.stdout.split("\0"))
    return [Path(name) for name in names if (repository / name).is_file()]
