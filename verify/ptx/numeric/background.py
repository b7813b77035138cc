"""Work that goes on behind the threads, in groups that are waited for.

It is done as late as PTX allows: when its group is waited for. What reads a result
before sees what was there, so a wait that is missing shows in the result.
"""

from collections.abc import Callable


class Background:
    """The work that all threads, which run in step, have started."""

    def __init__(self) -> None:
        """Begin the first group."""
        self.groups: list[list[Callable[[], None]]] = []
        self.open: list[Callable[[], None]] = []

    def start(self, work: Callable[[], None]) -> None:
        """Add work to the open group."""
        self.open.append(work)

    def commit(self) -> None:
        """Close the open group."""
        self.groups.append(self.open)
        self.open = []

    def wait(self, pending: int) -> None:
        """Do all groups but the latest ``pending`` closed ones."""
        done = max(0, len(self.groups) - pending)
        for group in self.groups[:done]:
            for work in group:
                work()
        del self.groups[:done]
