"""``@given_layouts``: a property-based test over layouts, in one line.

A parameter's name says what it is drawn from; what fails is kept as readable JSON and
tried first the next time, without the database of hypothesis.
"""

import functools
import inspect
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verify.strategies import (
    affine_layouts,
    bijections,
    conversions,
    encodings,
    kernels,
    layouts,
    surjections,
)
from verify.strategies.readable import from_json, to_json

EXAMPLES = "TILEWRIGHT_EXAMPLES"
"""Environment variable: folder of failing examples (the plugin sets it)."""

DEVICE = "TILEWRIGHT_DEVICE"
"""Environment variable: where tests run, see ``--tilewright-device``."""


def _tensors() -> st.SearchStrategy[Any]:
    from verify.strategies.tensors import tensors

    return tensors()


def _programs() -> st.SearchStrategy[Any]:
    from verify.strategies.programs import programs

    return programs()


BY_NAME: Mapping[str, Callable[[], st.SearchStrategy[Any]]] = {
    "layout": layouts,
    "src": surjections,
    "dst": surjections,
    "surjection": surjections,
    "bijection": bijections,
    "affine": affine_layouts,
    "conversion": conversions,
    "encoding": encodings,
    "kernel": kernels,
    "tensor": _tensors,
    "program": _programs,
}
"""Parameter -> strategy of what is drawn for it; a number behind the name is no part of
it (``layout1``)."""


def given_layouts(
    max_examples: int = 100, **drawn: st.SearchStrategy[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test on drawn layouts, encodings, conversions, tensors or programs.

    Law: a failing example is written to the folder of examples as JSON, shrunk, and
    the next run of the test starts with it; when it passes, the file goes.

    Args:
        max_examples: How many.
        drawn: Parameter -> strategy, for names that are not in :data:`BY_NAME` and for
            others than its own.

    Raises:
        TypeError: The test has no parameter that is drawn.

    Example:
        >>> @given_layouts(max_examples=20)
        ... def inverting_twice_is_nothing(bijection):
        ...     assert bijection.invert().invert() == bijection
        >>> inverting_twice_is_nothing()
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        names = list(inspect.signature(test).parameters)
        chosen = {
            name: strategy
            for name in names
            if (strategy := _strategy(name, drawn)) is not None
        }
        wrong = [name for name in drawn if name not in names]
        if wrong or not chosen:
            raise TypeError(
                f"{test.__name__} needs a parameter named {', '.join(BY_NAME)} or one "
                f"given to given_layouts; it has {names}, given was {list(drawn)}"
            )
        last: dict[str, Any] = {}

        @functools.wraps(test)
        def each(**values: Any) -> None:
            try:
                test(**values)
            except Exception:
                last.clear()
                last.update({name: values[name] for name in chosen})
                raise

        default = settings().deadline
        limits = settings(
            max_examples=max_examples,
            deadline=None if on_gpu() else default,
            suppress_health_check=[
                HealthCheck.too_slow,
                HealthCheck.function_scoped_fixture,
            ],
        )
        searched = limits(given(**chosen)(each))

        @functools.wraps(searched)
        def run(*args: Any, **fixtures: Any) -> None:
            place = example_file(test)
            stored = _stored(place)
            if stored is not None:
                test(**fixtures, **stored)  # fails as it did, or is done with
                assert place is not None
                place.unlink()
            last.clear()
            try:
                searched(*args, **fixtures)
            except Exception:
                if last and place is not None:
                    _keep(place, test, last)
                raise

        return run

    return decorate


def on_gpu() -> bool:
    """Return whether tests run on a GPU."""
    return os.environ.get(DEVICE, "cpu").startswith("cuda")


def example_file(test: Callable[..., None]) -> Path | None:
    """Return where a test's failing example is kept, None if nowhere."""
    folder = os.environ.get(EXAMPLES)
    if not folder:
        return None
    name = re.sub(r"[^\w.]+", "-", f"{test.__module__}.{test.__qualname__}")
    return Path(folder) / f"{name}.json"


def _strategy(
    name: str, drawn: Mapping[str, st.SearchStrategy[Any]]
) -> st.SearchStrategy[Any] | None:
    if name in drawn:
        return drawn[name]
    make = BY_NAME.get(name.rstrip("0123456789"))
    return None if make is None else make()


def _stored(place: Path | None) -> dict[str, Any] | None:
    if place is None or not place.exists():
        return None
    try:
        data = json.loads(place.read_text())
        return {name: from_json(value) for name, value in data["drawn"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # written by another version, or by hand


def _keep(place: Path, test: Callable[..., None], values: Mapping[str, Any]) -> None:
    try:
        drawn = {name: to_json(value) for name, value in values.items()}
    except TypeError:
        return  # a strategy of the user's own
    place.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"test": test.__qualname__, "drawn": drawn}, indent=1)
    place.write_text(text + "\n")
