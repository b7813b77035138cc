"""A campaign on a cluster: slices of work, each of which needs nothing but itself.

A worker of the cluster shares no folder with the others: it gets the state of its part
of the campaign and what is known, hunts for some seconds in a folder of its own, and
sends back its state and what it found. The driver writes both into the campaign's
folder, so that any engine, or none, goes on from there. Slices are short: Ctrl-C lets
none run longer, and what one worker found the others know a slice later.
"""

import contextlib
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .hunt import Campaign, Tally, work
from .store import Store

SLICE_SECONDS = 20.0
"""Longest slice [seconds]."""


class EngineError(RuntimeError):
    """An engine is not installed or not there; says what to do."""


@dataclass(frozen=True, slots=True)
class Slice:
    """What a slice of work found.

    Attributes:
        worker: Number of the worker.
        state: Its tally as JSON, see :class:`hunt.Tally`.
        finds: Cause -> find and test file.
        failing: Cases that were still being shrunk at the end.
    """

    worker: int
    state: Mapping[str, Any]
    finds: Mapping[str, tuple[Mapping[str, Any], str | None]]
    failing: Sequence[Mapping[str, Any]] = ()


def run_slice(
    campaign: Campaign,
    worker: int,
    state: Mapping[str, Any],
    known: Mapping[str, Mapping[str, Any]],
    failing: Sequence[Mapping[str, Any]] = (),
) -> Slice:
    """Hunt for the campaign's minutes in a folder of its own.

    Args:
        campaign: What to hunt; its folder is not used.
        worker: Number of this worker, which chooses its seeds.
        state: Tally as JSON, {} at the start.
        known: Cause -> find; none of them is shrunk again.
        failing: Cases of slices that were cut short, to be looked at first.
    """
    from .case import from_json

    with tempfile.TemporaryDirectory(prefix="tilewright-slice-") as room:
        store = Store(Path(room))
        for cause, find in known.items():
            store.add(cause, find, None)
        store.save_progress(worker, state)
        for case in failing:
            store.save_failing(from_json(case), pid=0)
        work(replace(campaign, folder=Path(room)), worker)
        finds = {}
        for find in store.finds():
            cause = str(find.pop("cause"))
            if cause not in known:
                test = Path(room) / "finds" / f"test_{cause}.py"
                text = test.read_text() if test.exists() else None
                finds[cause] = (find, text)
        left = [case.to_json() for case in store.failing()]
        return Slice(worker, store.progress(worker), finds, left)


def merge(store: Store, done: Slice) -> None:
    """Write what a slice found into the campaign's folder."""
    for cause, (find, test) in done.finds.items():
        if not store.known(cause):
            store.add(cause, find, test)
    store.save_progress(done.worker, done.state)


def hunt_with_dask(
    campaign: Campaign,
    workers: int = 2,
    address: str | None = None,
    report: Callable[[int, Tally], None] | None = None,
) -> list[Tally]:
    """Hunt on a Dask cluster; Ctrl-C ends it cleanly, and nothing found is lost.

    Args:
        campaign: What to hunt; its folder is the driver's.
        workers: Slices that run at the same time, each in a process of its own where
            the cluster is started here.
        address: Of a scheduler, for example ``tcp://host:8786``; None starts a cluster
            on this machine.
        report: Told the worker's number and tally after each slice.

    Raises:
        EngineError: Dask is not installed, or no scheduler answers at the address.
    """
    try:
        from distributed import Client, LocalCluster, as_completed
    except ImportError as error:
        raise EngineError(
            f"the engine dask needs the package distributed ({error}); install "
            "tilewright[cluster], or leave --engine out to use processes"
        ) from error
    store = Store(campaign.folder)
    deadline = time.monotonic() + 60 * campaign.minutes
    with contextlib.ExitStack() as stack:
        if address is None:
            cluster: Any = stack.enter_context(
                LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    silence_logs=50,
                )
            )
        else:
            cluster = address
        try:
            client = stack.enter_context(Client(cluster, timeout=20))
        except (OSError, TimeoutError) as error:
            raise EngineError(
                f"a Dask scheduler was needed at address={address!r}, none answers "
                f"({error}); start one with `dask scheduler`"
            ) from error

        def send(worker: int, failing: Sequence[Mapping[str, Any]] = ()) -> Any:
            seconds = min(SLICE_SECONDS, deadline - time.monotonic())
            part = replace(campaign, minutes=max(seconds, 0.1) / 60)
            known = {str(find["cause"]): find for find in store.finds()}
            state = store.progress(worker)
            # plain data travels; the campaign's folder means nothing elsewhere
            return client.submit(
                run_slice, part, worker, state, known, failing, pure=False
            )

        running = {send(worker): worker for worker in range(workers)}
        queue = as_completed(list(running), raise_errors=False)
        try:
            for future in queue:
                worker = running.pop(future)
                failing: Sequence[Mapping[str, Any]] = ()
                if future.status == "finished":
                    done = future.result()
                    merge(store, done)
                    failing = done.failing
                    if report is not None:
                        report(worker, Tally.from_json(done.state))
                if time.monotonic() < deadline:  # a lost slice is sent again
                    again = send(worker, failing)
                    running[again] = worker
                    queue.add(again)
        except KeyboardInterrupt:
            for future in running:
                with contextlib.suppress(Exception):
                    future.cancel()
            raise
    return [Tally.from_json(store.progress(number)) for number in range(workers)]
