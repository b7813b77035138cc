"""Names of kernels that say what they do, as a profiler will show them."""

import re

from compiler.ir.expression import nodes
from compiler.ir.kernel import Prefix, Reduction, Store

from .nest import Nest, stage_values

_TELLING = ("exp", "tanh", "erf", "log", "rsqrt", "sin", "random_bits", "checked_index")
_SPELT = {"random_bits": "random", "checked_index": "gather"}


def kernel_name(nest: Nest, number: int, *, product: bool = False) -> str:
    """Return a name made of reducers, telling operations and arrays written.

    Args:
        nest: What it does.
        number: Unique.
        product: Whether its one reduction is done as a product of matrices.

    Example: ``max_sum_exp_softmax_3``.
    """
    words: list[str] = []
    for stage in nest.stages:
        if isinstance(stage, Reduction):
            words.append("matmul" if product else stage.reducer)
        elif isinstance(stage, Prefix):
            words.append(f"scan_{stage.kind}")
    values = [value for stage in nest.stages for value in stage_values(stage)]
    used = {node.op for node in nodes(*values)}
    words += [_SPELT.get(op, op) for op in _TELLING if op in used]
    stores = [stage for stage in nest.stages if isinstance(stage, Store)]
    if any(stage.mode != "set" for stage in stores):
        words.append("scatter")
    words += [stage.buffer for stage in stores[-2:]]
    unique = dict.fromkeys(re.sub(r"\W|_\d+$", "", word) for word in words)
    name = "_".join(word for word in unique if word)[:60].strip("_") or "kernel"
    return f"k_{name}_{number}" if name[0].isdigit() else f"{name}_{number}"
