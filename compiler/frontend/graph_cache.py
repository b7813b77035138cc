"""Compiled graphs on disk: a later process reads what an earlier one compiled.

An entry has the wrapper's text and how its names are found, the kernels, the schedule
and the certificates. C++ kernels are in libraries of the same folder, which an entry
names; Triton keeps its own. An entry is read only by the code that wrote it (the key
has a hash of it), and whatever is wrong with one makes the graph compiled again.
"""

import io
import pickle
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch import fx

from compiler import torch_api
from compiler.ir.expression import make
from compiler.ir.kernel import Kernel, Schedule
from compiler.ir.node import Extern
from compiler.options import Options
from compiler.runtime.build import compiler_identity
from compiler.runtime.built import Built
from compiler.runtime.cache import keep, kept
from compiler.runtime.cpp import kept_kernel
from compiler.runtime.wrapper import Wrapper, rewrap

from .constants import attribute
from .graph_key import NotKept, graph_key, takes_part
from .kernels import give_alternative
from .validator import Certificate, Validator

Found = tuple[Wrapper, Schedule, tuple[Certificate, ...]]

COUNTS: Final[Counter[str]] = Counter()
"""How many graphs of this process were ``found``, ``stored`` and ``not kept``."""

_READ_FROM: Final = ("algebra.", "compiler.")
"""Packages whose classes an entry may name."""

_MAKERS: Final = (make, kept_kernel)
"""Functions that an entry may name."""


@dataclass(frozen=True)
class _Entry:
    """What is kept of one graph."""

    source: str
    launches: int
    recipes: Mapping[str, tuple[str, Any]]
    origins: Mapping[int, str]
    kernels: Mapping[str, Built]
    schedule: Schedule
    certificates: tuple[Certificate, ...]
    compiler: str


class Place:
    """Where one graph is kept, if it is one that can be.

    Attributes:
        key: Of the graph; "" where it has none.
        reason: Why it has none, or why it was not kept.
    """

    def __init__(
        self, graph: fx.GraphModule, options: Options, validator: Validator | None
    ) -> None:
        """Find the place of a graph, before anything changes the graph.

        Args:
            graph: Of ATen operators.
            options: The user's; without ``cache`` there is no place.
            validator: Takes part where ``certify`` is set.
        """
        self.key, self.reason = "", ""
        self._named: dict[int, tuple[Any, str]] = {}
        self._values = [node.meta.get("val") for node in graph.graph.nodes]
        self._guards = torch_api.guard_count(self._values)
        self._graph = graph
        self._fallback = options.fallback
        if not options.cache:
            self.reason = "the option cache is off"
            return
        try:
            self.key = graph_key(graph, options, _parts(options, validator))
        except NotKept as reason:
            self.reason = str(reason)
            return
        for node in graph.graph.nodes:
            if node.op == "get_attr":
                value = attribute(graph, str(node.target))
                self._named[id(value)] = value, str(node.target)

    @property
    def file(self) -> str:
        """Name of the entry's file in the cache."""
        return f"{self.key}.graph"

    def find(self, name: str) -> Found | None:
        """Return what the graph compiled to before; None where nothing is kept.

        No compiler is started.

        Args:
            name: Of the file that a traceback shows.
        """
        content = kept(self.file) if self.key else None
        if content is None:
            return None
        try:
            entry = _read(content)
            if entry.compiler != (compiler_identity() or entry.compiler):
                return None
            recipes = {
                word: self._value(recipe) for word, recipe in entry.recipes.items()
            }
            wrapper = rewrap(
                *(entry.source, entry.launches, recipes, entry.origins, entry.kernels),
                name=name,
            )
        except Exception as error:
            # made by another release, or its libraries are gone: it is compiled again
            self.reason = f"{type(error).__name__}: {error}"
            return None
        for step in entry.schedule.steps:
            if self._fallback and isinstance(step, Kernel):
                give_alternative(entry.kernels[step.name], step)
        COUNTS["found"] += 1
        return wrapper, entry.schedule, entry.certificates

    def store(
        self,
        wrapper: Wrapper,
        schedule: Schedule,
        certificates: tuple[Certificate, ...],
    ) -> bool:
        """Keep what the graph compiled to; return whether it is kept.

        Nothing is kept of a graph whose compilation went by more than its text: one
        that put guards on sizes, or that has a kernel which could not be built.
        """
        stored = bool(self.key) and self._store(wrapper, schedule, certificates)
        COUNTS["stored" if stored else "not kept"] += 1
        return stored

    def _store(
        self,
        wrapper: Wrapper,
        schedule: Schedule,
        certificates: tuple[Certificate, ...],
    ) -> bool:
        try:
            if torch_api.guard_count(self._values) != self._guards:
                raise NotKept("compiling it put guards on sizes")
            recipes = {
                word: self._recipe(recipe) for word, recipe in wrapper.recipes.items()
            }
            content = pickle.dumps(
                _Entry(
                    wrapper.source,
                    wrapper.launches,
                    recipes,
                    dict(wrapper.origins),
                    dict(wrapper.kernels),
                    _plain(schedule),
                    certificates,
                    compiler_identity(),
                ),
                protocol=5,
            )
            _read(content)
        except Exception as error:
            self.reason = f"{type(error).__name__}: {error}"
            return False
        return keep(self.file, content)

    def _recipe(self, recipe: tuple[str, Any]) -> tuple[str, Any]:
        """Return how a value is found in another process."""
        kind, value = recipe
        if kind != "value":
            return recipe
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return "word", str(value).removeprefix("torch.")
        if isinstance(value, torch.device):
            return "device", str(value)
        if isinstance(value, (bool, int, float, complex, str, type(None))):
            return "plain", value
        if torch_api.is_higher_order(value):
            return "higher order", value.name()
        if id(value) in self._named:
            return "attribute", self._named[id(value)][1]
        raise NotKept(f"a value of the type {type(value).__name__}")

    def _value(self, recipe: tuple[str, Any]) -> tuple[str, Any]:
        """Return a recipe of this process; inverse of :meth:`_recipe`."""
        kind, value = recipe
        if kind == "word":
            return "value", getattr(torch, value)
        if kind == "device":
            return "value", torch.device(value)
        if kind == "plain":
            return "value", value
        if kind == "higher order":
            return "value", torch_api.higher_order_of(value)
        if kind == "attribute":
            return "value", attribute(self._graph, value)
        return recipe


def _parts(options: Options, validator: Validator | None) -> list[Any]:
    """Return functions and objects that take part in compiling."""
    from compiler import lower as lowering
    from compiler.lower.registry import LOWERINGS

    parts: list[Any] = takes_part(LOWERINGS, lowering.REWRITES)
    parts.append(lowering.lower)
    scheduling = sys.modules.get("compiler.schedule")  # not loaded for this alone
    if scheduling is not None:
        parts.append(scheduling.schedule)
    if options.certify and validator is not None:
        parts.append(validator)
    return parts


def _plain(schedule: Schedule) -> Schedule:
    """Return a schedule whose calls into PyTorch are names without arguments."""
    steps = tuple(
        replace(step, target=str(step.target), args=(), kwargs={})
        if isinstance(step, Extern)
        else step
        for step in schedule.steps
    )
    return replace(schedule, steps=steps)


class _Reader(pickle.Unpickler):
    """Reads entries; refuses to name anything but classes of the compiler."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith(_READ_FROM):
            found: Any = super().find_class(module, name)
            known = isinstance(found, type) or found in _MAKERS
            if known and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"an entry has no {module}.{name}")


def _read(content: bytes) -> _Entry:
    entry = _Reader(io.BytesIO(content)).load()
    if not isinstance(entry, _Entry):
        raise pickle.UnpicklingError(f"an entry was needed, got {type(entry)}")
    return entry
