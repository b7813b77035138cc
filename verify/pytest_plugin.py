"""pytest plugin: layouts for tests, a device for them, and a check of Triton kernels.

``pytest -p verify.pytest_plugin`` gives tests ``@given_layouts`` (from
:mod:`verify.given_layouts`), the fixture ``tilewright_device`` and the options

* ``--tilewright-device cuda``: where tests run. On a GPU no example has a deadline, and
  the device is warmed up before the first test, because a first kernel takes seconds.
* ``--tilewright-examples FOLDER``: where failing examples are kept as JSON.
* ``--check-kernels``: prints a table of every Triton kernel that the tests launch, and
  fails the run if one is refuted.

Without the options the plugin changes nothing.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest

OPTION = "--check-kernels"
DEVICE_OPTION = "--tilewright-device"
EXAMPLES_OPTION = "--tilewright-examples"
EXAMPLES_FOLDER = ".tilewright-examples"


class Checker:
    """Watches a test run.

    Attributes:
        seen: What was launched and found; ``None`` until the end.
    """

    def __init__(self) -> None:
        self.seen: Any = None
        self.block: Any = None

    def start(self) -> None:
        """Begin to record launches."""
        from verify.launches import watch

        self.block = watch(on_end=self.keep)
        self.block.__enter__()

    def keep(self, seen: Any) -> None:
        """Take what was found."""
        self.seen = seen

    def pytest_sessionfinish(self, session: Any) -> None:
        """Check what was recorded; a refuted kernel fails the run."""
        self.block.__exit__(None, None, None)
        if self.seen.refuted and session.exitstatus == 0:
            session.exitstatus = 1

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the table."""
        if self.seen is not None:
            terminalreporter.section("Triton kernels")
            terminalreporter.write_line(self.seen.table())


def pytest_addoption(parser: Any) -> None:
    """Add the options."""
    group = parser.getgroup("tilewright")
    group.addoption(
        OPTION,
        action="store_true",
        help="check every Triton kernel that the tests launch",
    )
    group.addoption(
        DEVICE_OPTION,
        default="cpu",
        metavar="DEVICE",
        help="where tests of the fixture tilewright_device run: cpu, cuda or cuda:N",
    )
    group.addoption(
        EXAMPLES_OPTION,
        default=EXAMPLES_FOLDER,
        metavar="FOLDER",
        help="where failing examples of @given_layouts are kept as JSON",
    )


def pytest_configure(config: Any) -> None:
    """Set the device and the folder of examples; begin to watch kernels if asked.

    Raises:
        pytest.UsageError: The device is none, or is not there.
    """
    device = config.getoption(DEVICE_OPTION)
    check_device(device)
    folder = config.rootpath / config.getoption(EXAMPLES_OPTION)
    os.environ["TILEWRIGHT_EXAMPLES"] = str(folder)
    os.environ["TILEWRIGHT_DEVICE"] = device
    if device.startswith("cuda"):
        from hypothesis import HealthCheck, settings

        slow = [HealthCheck.too_slow]
        settings.register_profile(
            "tilewright-gpu", deadline=None, suppress_health_check=slow
        )
        settings.load_profile("tilewright-gpu")
    if config.getoption(OPTION):
        checker = Checker()
        config.pluginmanager.register(checker, "tilewright-kernels")
        checker.start()


def check_device(device: str) -> None:
    """Refuse a device that is none, or that is not there.

    Raises:
        pytest.UsageError: Names the devices that are.
    """
    kind, _, number = device.partition(":")
    if kind == "cpu" and not number:
        return
    if kind != "cuda" or (number and not number.isdigit()):
        raise pytest.UsageError(
            f"{DEVICE_OPTION} must be cpu, cuda or cuda:N, got {device!r}"
        )
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(number or 0) >= count:
        raise pytest.UsageError(
            f"{DEVICE_OPTION}={device} needs a CUDA device, {count} are there; leave "
            "the option out to run on the CPU"
        )


@pytest.fixture(scope="session")
def tilewright_device(
    request: pytest.FixtureRequest, tilewright_warm: None
) -> Iterator[str]:
    """The device of ``--tilewright-device``, warmed up."""
    yield str(request.config.getoption(DEVICE_OPTION))


@pytest.fixture(scope="session")
def tilewright_warm(request: pytest.FixtureRequest) -> None:
    """Pay for a GPU's first kernels before the first test is timed."""
    device = str(request.config.getoption(DEVICE_OPTION))
    if device.startswith("cuda"):
        warm_up(device)


def warm_up(device: str) -> None:
    """Run a process's first kernels: context, allocator, matmul, random numbers."""
    import torch

    x = torch.randn(64, 64, device=device)
    for dtype in (torch.float32, torch.bfloat16):
        y = x.to(dtype)
        (y @ y).softmax(-1).sum().item()
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
