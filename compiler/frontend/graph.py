"""One graph, compiled: lower, schedule, certify, build, wrap.

Whatever goes wrong on the way leaves the graph as it was captured, which PyTorch's own
operators run; a warning names the reason and, where it is known, the user's line.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from compiler.errors import CompileError, FallbackWarning
from compiler.ir.kernel import Kernel, Schedule
from compiler.ir.node import Buffer
from compiler.lower.eager_strides import correct_strides
from compiler.options import Options
from compiler.runtime.wrapper import Wrapper, wrap
from compiler.torch_api import boxed

from .certify import certified, certified_texts
from .constants import lift_constants
from .describe import describe_program, describe_schedule
from .graph_cache import Place
from .kernels import build_kernels
from .overlap import written_overlap
from .parts import in_parts, makes_sizes
from .recording import recording
from .saved import as_captured, restored
from .summary import summarise
from .trace import Trace
from .validator import Certificate, Validator

Compiled = Callable[[list[Any]], Any]
"""Takes its arguments in one list, which it may clear."""


@dataclass
class Product:
    """What compiling one graph gave.

    Attributes:
        wrapper: What runs.
        schedule: What it was made from.
        certificates: One a kernel and one of the memory plan, () without a validator.
        kept: Whether it was compiled before and read from the disk; the schedule's
            calls into PyTorch are then names without arguments.
    """

    wrapper: Wrapper
    schedule: Schedule
    certificates: tuple[Certificate, ...]
    kept: bool = False


def compile_graph(
    graph: fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options | None = None,
    validator: Validator | None = None,
    *,
    name: str = "graph",
) -> Compiled:
    """Compile a graph that AOTAutograd made.

    Args:
        graph: ATen operators, with fake tensors in ``meta["val"]``.
        example_inputs: Fake tensors and sizes.
        options: What the user asked for.
        validator: Checks the kernels where ``options.certify`` is set.
        name: For the trace and for tracebacks.

    Returns:
        A function of one list of arguments. Its attribute ``product`` is the
        :class:`Product`, None where the graph runs by PyTorch's own operators.

    Raises:
        CompileError: Something cannot be compiled, and ``options.fallback`` is off.
    """
    options = options or Options()
    trace = Trace.begin(options.trace, name)
    if trace.folder is not None:
        trace.write("graph.py", graph.print_readable(print_output=False))
    constants = lift_constants(graph)
    correct_strides(graph)
    if options.lower and makes_sizes(graph):

        def part(inner: fx.GraphModule, inputs: Sequence[Any], number: int) -> Compiled:
            called = f"{name}_part_{number}"
            return compile_graph(inner, inputs, options, validator, name=called)

        restore = restored(graph)
        cut, trace.facts["parts"] = in_parts(graph, part)
        trace.end()
        return _with(cut if restore is None else _after(restore, cut), constants, None)
    run: Compiled
    product: Product | None = None
    if options.lower and not written_overlap(graph):
        try:
            product = _recalled(graph, options, validator, trace, name)
        except Exception as error:
            report_fallback(error, options, name)
            trace.facts["error"] = f"{type(error).__name__}: {error}"
    if product is None:
        run = _eagerly(graph)
    else:
        run = _checked(product, graph, options, name)
    trace.end()
    return _with(run, constants, product)


def _recalled(
    graph: fx.GraphModule,
    options: Options,
    validator: Validator | None,
    trace: Trace,
    name: str,
) -> Product:
    """Return what an earlier process compiled, or compile; a trace shows all passes."""
    with trace.step("key"):
        place = Place(graph, options, validator)
        found = place.find(name) if trace.folder is None else None
    if found is not None:
        return Product(*found, kept=True)
    product = _product(graph, options, validator, trace, name)
    with trace.step("keep"):
        place.store(product.wrapper, product.schedule, product.certificates)
    if place.reason:
        trace.facts["not kept"] = place.reason
    return product


def _product(
    graph: fx.GraphModule,
    options: Options,
    validator: Validator | None,
    trace: Trace,
    name: str,
) -> Product:
    from compiler.lower import REWRITES, lower
    from compiler.schedule import schedule as plan

    with trace.step("rewrite"):
        for rewrite in REWRITES:
            rewrite(graph)
    with trace.step("lower"):
        program = lower(graph, options=options)
    if trace.folder is not None:
        trace.write("program.txt", describe_program(program))
    with trace.step("schedule"):
        schedule = plan(program, options)
    if trace.folder is not None:
        trace.write("schedule.txt", describe_schedule(schedule))
    kernels = [step for step in schedule.steps if isinstance(step, Kernel)]
    certificates: tuple[Certificate, ...] = ()
    refuted: frozenset[str] = frozenset()
    if options.certify and validator is not None:
        with trace.step("certify"):
            certificates, refuted = certified(schedule, program, validator)
    with trace.step("build"):
        built = build_kernels(kernels, options, refuted)
    if options.certify == "ttir" and validator is not None:
        with trace.step("certify texts"):
            certificates = certified_texts(
                schedule, built, certificates, validator, options
            )
    for kernel in kernels:
        suffix = "cpp" if "extern" in built[kernel.name].source else "py"
        trace.write(f"kernels/{kernel.name}.{suffix}", built[kernel.name].source)
    with trace.step("wrap"):
        wrapper = wrap(schedule, built, name=name)
    trace.write("wrapper.py", wrapper.source)
    trace.facts.update(summarise(schedule, built, certificates))
    return Product(wrapper, schedule, certificates)


def report_fallback(error: Exception, options: Options, name: str) -> None:
    """Say that a graph runs by PyTorch's own operators, and why.

    Args:
        error: Why; its notes name the user's lines.
        options: What the user asked for.
        name: The graph's.

    Raises:
        CompileError: ``options.fallback`` is off.
    """
    reason = str(error).strip() or type(error).__name__
    notes = ", ".join(getattr(error, "__notes__", ()))
    where = f" ({notes})" if notes else ""
    if not options.fallback:
        raise CompileError(f"{name} had to be compiled{where}: {reason}") from error
    warnings.warn(
        f"{name} runs by PyTorch's own operators, because it could not be compiled"
        f"{where}: {type(error).__name__}: {reason}",
        FallbackWarning,
        stacklevel=2,
    )


def _after(first: Callable[[list[Any]], None], then: Compiled) -> Compiled:
    def run(args: list[Any]) -> Any:
        first(args)
        return then(args)

    return run


def _eagerly(graph: fx.GraphModule) -> Compiled:
    plain = as_captured(graph)

    def run(args: list[Any]) -> Any:
        given = list(args)
        args.clear()
        return plain(*given)

    return run


def _checked(
    product: Product, graph: fx.GraphModule, options: Options, name: str
) -> Compiled:
    """Return the wrapper; its first call looks whether the inputs are as promised."""
    shown = graph.meta.get("saved", 0)
    run = recording(
        product.wrapper.run, product.schedule, options, name=name, shown=shown
    )
    expected = product.schedule.inputs
    plain = as_captured(graph)
    checked = False

    def call(args: list[Any]) -> Any:
        nonlocal checked
        if not checked:
            for value, buffer in zip(args, expected, strict=True):
                if not _as_promised(value, buffer):
                    return plain(*args)
            checked = True
        try:
            return run(args)
        except Exception as error:
            product.wrapper.explain(error)
            raise

    return call


def _as_promised(value: Any, promised: Any) -> bool:
    if not isinstance(promised, Buffer):
        return not isinstance(value, torch.Tensor)
    if not isinstance(value, torch.Tensor):
        return False
    if value.dim() != len(promised.shape) or promised.strides is None:
        return False
    for size, stride, extent, step in zip(
        value.shape, value.stride(), promised.shape, promised.strides, strict=True
    ):
        if extent.op == "constant" and extent.data != size:
            return False
        if size > 1 and step.op == "constant" and step.data != stride:
            return False
    return str(value.dtype) == f"torch.{promised.dtype}"


def _with(
    run: Compiled, constants: Sequence[torch.Tensor], product: Product | None
) -> Compiled:
    if constants:
        inner = run

        def extended(args: list[Any]) -> Any:
            args.extend(constants)
            return inner(args)

        run = extended

    def final(args: list[Any]) -> Any:
        return run(args)

    target = final if product is not None and run is product.wrapper.run else run
    target.product = product  # type: ignore[attr-defined]
    return boxed(target)
