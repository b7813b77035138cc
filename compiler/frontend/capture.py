"""What Dynamo captured, through AOTAutograd to compiled graphs."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import fx

from compiler.errors import CompileError
from compiler.lower import FUSED, JOINT_REWRITES, decompositions
from compiler.lower.eager_strides import correct_fake_strides
from compiler.options import Options
from compiler.torch_api import (
    differentiate,
    has_views_to_guess,
    is_capture_control,
    is_symbolic,
    mutated_arguments,
    unseen,
)

from .collector import collector_paused
from .frozen import compile_frozen
from .graph import compile_graph, report_fallback
from .identities import without_identities
from .kernels import warm_up
from .masks import without_idle_masks
from .output_strides import captured_strides, restride
from .overlap import unless_they_overlap
from .saved import (
    mark_donated,
    mark_given,
    mark_saved,
    private_results,
    report_strides,
)
from .validator import Validator


def compile_captured(
    graph: fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    validator: Validator | None = None,
) -> Callable[..., Any]:
    """Compile a graph of Dynamo's, for inference or training.

    The backward half is compiled when it is first needed. What AOTAutograd refuses (a
    write through ``as_strided``, say) runs as it was captured, with a warning.

    Args:
        graph: What was captured; it may be run again, as it is.
        example_inputs: Its inputs, as Dynamo gives them.
        options: What the user asked for.
        validator: Checks the kernels where ``options.certify`` is set.

    Returns:
        A function of the graph's inputs.

    Raises:
        CompileError: Something cannot be compiled, and ``options.fallback`` is off.
        OptionError: Gradients are needed, and ``options.freeze`` is on.
    """
    warm_up(example_inputs)
    correct_fake_strides()
    without_identities(graph)
    without_idle_masks(graph)
    if options.freeze:
        return compile_frozen(graph, example_inputs, options, validator)
    mutated: tuple[int, ...] = ()
    private: frozenset[str] = frozenset()
    strides = captured_strides(graph)

    def compiler_of(name: str) -> Callable[[fx.GraphModule, Sequence[Any]], Any]:
        def compiler(inner: fx.GraphModule, inputs: Sequence[Any]) -> Any:
            nonlocal mutated, private
            if name != "backward":
                mutated = mutated_arguments(inputs, example_inputs)
                if any(map(is_symbolic, inputs)) and has_views_to_guess():
                    raise NotImplementedError(
                        "a view that takes symbolic sizes, of an argument that is "
                        "written, is returned"
                    )
                restride(inner, strides)
            if name == "forward":
                mark_saved(inner)
            elif name == "backward":
                mark_given(inner, inputs)
                mark_donated(inner, private)
            with collector_paused():
                run = compile_graph(inner, inputs, options, validator, name=name)
            product = getattr(run, "product", None)
            if product is not None:
                report_strides(product.schedule, inner)
                if name == "forward":
                    private = private_results(product.schedule, inner)
            return run

        return compiler

    as_written = unseen(graph.forward)
    try:
        run = differentiate(
            graph,
            example_inputs,
            forward=compiler_of("forward"),
            backward=compiler_of("backward"),
            inference=compiler_of("inference"),
            decompositions=decompositions(),
            joint=JOINT_REWRITES,
            fused=FUSED,
        )
    except CompileError:
        raise
    except Exception as error:
        if is_capture_control(error):
            raise
        report_fallback(error, options, "what was captured")
        return as_written
    return unless_they_overlap(run, as_written, mutated, example_inputs)
