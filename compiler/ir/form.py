"""What a kernel does, whatever its arrays are called.

The layers of a model are the same loops over other arrays. Kernels of one form need to
be compiled, tuned and proved only once.
"""

from collections.abc import Hashable
from dataclasses import dataclass

from .expression import Expression, make, rewrite
from .kernel import Kernel, Prefix, Reduction, Stage


@dataclass(frozen=True, slots=True)
class Form:
    """A kernel without names.

    Attributes:
        key: Equal for kernels that do the same with their arrays.
        arrays: The kernel's names of its arrays, in the form's order.

    Law: of two kernels with equal keys, each does what the other does with the arrays
    in the same places.
    """

    key: Hashable
    arrays: tuple[str, ...]


def form_of(kernel: Kernel) -> Form:
    """Return what a kernel does.

    Digits keep their names, which the scheduler chooses by place; symbols keep theirs,
    which are the graph's.
    """
    arrays = tuple(kernel.buffers)
    names = {name: f"b{place}" for place, name in enumerate(arrays)}
    results: dict[str, str] = {}
    for stage in kernel.stages:
        if isinstance(stage, (Reduction, Prefix)):
            for name in stage.results:
                results.setdefault(name, f"l{len(results)}")
    done: dict[int, Expression] = {}

    def change(node: Expression) -> Expression:
        if node.op == "load":
            return make("load", node.args, node.dtype, names[str(node.data)])
        if node.op == "local":
            return make("local", (), node.dtype, results.get(str(node.data), ""))
        return node

    def anonymous(value: Expression | None) -> Expression | None:
        return None if value is None else rewrite(value, change, done)

    def stage_key(stage: Stage) -> Hashable:
        if isinstance(stage, (Reduction, Prefix)):
            reduces = isinstance(stage, Reduction)
            kind = stage.reducer if isinstance(stage, Reduction) else stage.kind
            values = stage.values if isinstance(stage, Reduction) else (stage.value,)
            return (
                reduces,
                kind,
                tuple(results[name] for name in stage.results),
                stage.dtypes,
                tuple(map(anonymous, values)),
                isinstance(stage, Reduction) and stage.folded,
            )
        return (
            names[stage.buffer],
            tuple(map(anonymous, stage.target)),
            anonymous(stage.value),
            anonymous(stage.condition),
            stage.inner,
            stage.mode,
            stage.injective,
            stage.folded,
        )

    key = (
        tuple((axis.digit, axis.extent) for axis in kernel.outer),
        tuple((axis.digit, axis.extent) for axis in kernel.inner),
        tuple(map(stage_key, kernel.stages)),
        tuple((b.dtype, b.device, b.shape, b.strides) for b in kernel.buffers.values()),
        kernel.tile,
        kernel.product,
    )
    return Form(key, arrays)
