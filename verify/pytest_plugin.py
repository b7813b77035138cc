"""pytest plugin: check every Triton kernel that the tests launch.

``pytest -p verify.pytest_plugin --check-kernels`` prints a table at the end, and fails
the run if a kernel is refuted. Without the option the plugin does nothing.
"""

from typing import Any

OPTION = "--check-kernels"


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
    """Add the option."""
    parser.addoption(
        OPTION,
        action="store_true",
        help="check every Triton kernel that the tests launch",
    )


def pytest_configure(config: Any) -> None:
    """Begin to watch, where the option is given."""
    if config.getoption(OPTION):
        checker = Checker()
        config.pluginmanager.register(checker, "tilewright-kernels")
        checker.start()
