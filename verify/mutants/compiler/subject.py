"""Backends of torch.compile with a fault each, for campaigns: ``subject:FAULT``.

``right_cpp``, ``right_triton`` and ``right_evaluated`` are the same compiler without a
fault. A fault stays until another of these backends compiles or :func:`restore` is
called, since a backward half is compiled when it is first needed: use them in a process
of their own. A kernel whose obligation is refuted, and a graph that cannot be compiled,
are errors here, where users would get PyTorch's own operators and a warning. A kernel
that a printer refuses, such as an atomic that Triton lacks, is none.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from torch import fx

from compiler.errors import FallbackWarning
from compiler.frontend import compile_captured
from compiler.lower.eager_strides import correct_fake_strides
from compiler.options import Options
from compiler.torch_api import unseen
from verify.obligations import Obligations

from .changes import instead
from .fault import ROUTES, Change, Fault, applied
from .fusion import FUSION_FAULTS
from .indices import INDEX_FAULTS
from .interpreter import correct_casts
from .reductions import REDUCTION_FAULTS
from .small import Watched, small, smaller_tiles

correct_fake_strides()  # before the first graph is captured, as the real backend

COMPILER_FAULTS = (*REDUCTION_FAULTS, *INDEX_FAULTS, *FUSION_FAULTS)
"""Faults of the fusing compiler: kinds 24 to 47."""

FAULTS: Mapping[str, Fault] = {fault.name: fault for fault in COMPILER_FAULTS}

Backend = Callable[[fx.GraphModule, Sequence[Any]], Callable[..., Any]]


CERTIFY: Mapping[str, Any] = {"evaluated": True, "cpp": True, "triton": "ttir"}
"""Route -> what is certified: for Triton the emitted text too."""

_PRESENT = ExitStack()


class CaughtError(RuntimeError):
    """The compiler itself noticed: an obligation is refuted, or it gave up."""


def restore() -> None:
    """Take out the fault that is in."""
    _PRESENT.close()


def route_changes(route: str) -> tuple[Change, ...]:
    """Return what makes kernels run in another way than as C++."""
    place = "compiler.frontend.kernels:_builder"
    if route == "evaluated":
        return (instead(place, lambda right, device: lambda kernels, options: {}),)
    if route == "triton":
        return (instead(place, lambda right, device: _interpreted), *smaller_tiles())
    return ()


def _interpreted(kernels: Sequence[Any], options: Options) -> Mapping[str, Any]:
    from compiler.codegen.triton import build

    correct_casts()
    return build(kernels, options, interpret=True)


def backend(changes: Sequence[Change], route: str) -> Backend:
    """Return a backend that compiles with changes.

    Args:
        changes: The fault's.
        route: How kernels run.
    """

    def compile(graph: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        restore()
        watched = Watched()
        everything = (*route_changes(route), *small(watched), *changes)
        _PRESENT.enter_context(applied(everything))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", FallbackWarning)
            # what is compiled with a fault is not kept for others
            chosen = {"certify": CERTIFY[route], "cache": False}
            options = Options.of(options=chosen)
            run = compile_captured(graph, inputs, options, Obligations())
        said = [
            text
            for text in (str(w.message) for w in told)
            if "is refuted" in text or "not be compiled" in text
        ]
        if said:
            raise CaughtError(said[0])

        def guarded(*args: Any) -> Any:
            result = run(*args)
            watched.check()
            return result

        return unseen(guarded)

    return compile


def __getattr__(name: str) -> Backend:
    if name in FAULTS:
        return backend(FAULTS[name].changes, FAULTS[name].route)
    if name.startswith("right_") and name[6:] in ROUTES:
        return backend((), name[6:])
    raise AttributeError(
        f"a fault or right_ROUTE was needed, got {name!r}; faults are "
        f"{', '.join(FAULTS)}, routes {', '.join(ROUTES)}"
    )
