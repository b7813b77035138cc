"""``torch.compile(model, backend="tilewright")``: compiler and validator, wired.

The entry point ``torch_dynamo_backends`` names :func:`compile`. Importing this module
corrects the strides of PyTorch's fake tensors, see ``compiler.lower.eager_strides``.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from torch import fx

from compiler.frontend import Validator, collector_paused, compile_captured
from compiler.lower.eager_strides import correct_fake_strides
from compiler.options import Options

correct_fake_strides()  # Dynamo captures the first graph before it calls the backend


def compile(
    graph: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compile what Dynamo captured; called by ``torch.compile``.

    Args:
        graph: The captured graph.
        example_inputs: Its inputs.
        mode: ``torch.compile``'s mode.
        options: ``torch.compile``'s options: attributes of
            :class:`compiler.options.Options`.

    Returns:
        A function of the graph's inputs.

    Raises:
        OptionError: An option is unknown or has no such value.
        CompileError: Something cannot be compiled, and the option ``fallback`` is off.
    """
    chosen = Options.of(mode, options)
    if any("matrix_exp" in str(node.target) for node in graph.graph.nodes):
        import_module("manifolds.expm.rewrite")  # registers itself
    validator = _validator() if chosen.certify else None
    with collector_paused():
        return compile_captured(graph, example_inputs, chosen, validator)


def _validator() -> Validator | None:
    try:
        from verify.obligations import Obligations
    except ImportError:
        return None
    found: Validator = Obligations()
    return found
