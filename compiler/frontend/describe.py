"""Programs and schedules as text that a person reads."""

from collections.abc import Iterable, Sequence
from typing import Any

from compiler.ir.expression import Expression
from compiler.ir.kernel import (
    Allocate,
    Free,
    Kernel,
    Prefix,
    Reduction,
    Schedule,
    Stage,
    Step,
    Store,
)
from compiler.ir.node import (
    Alias,
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Node,
    Product,
    Program,
    Reduce,
    Reference,
    Scan,
    Scatter,
)


def describe_program(program: Program) -> str:
    """Return one line or more for each node of a program."""
    lines = [f"input  {_input(value)}" for value in program.inputs]
    lines += [describe_node(node) for node in program.nodes]
    lines.append(f"output {_list(program.outputs)}")
    return "\n".join(lines) + "\n"


def describe_schedule(schedule: Schedule) -> str:
    """Return one line or more for each step of a schedule, its reasons last."""
    lines = [f"input  {_input(value)}" for value in schedule.inputs]
    lines += [describe_step(step) for step in schedule.steps]
    lines.append(f"output {_list(schedule.outputs)}")
    if schedule.notes:
        lines += ["", "notes", *(f"  {note}" for note in schedule.notes)]
    return "\n".join(lines) + "\n"


def describe_node(node: Node) -> str:
    """Return a node as text."""
    if isinstance(node, Map):
        return f"map    {_array(node.buffer)} over {_axes(node.axes)}: {node.value!r}"
    if isinstance(node, Reduce):
        made = ", ".join(map(_array, node.buffers))
        return (
            f"reduce {made} over {_axes(node.axes)}: {node.reducer} over "
            f"{_axes(node.reduced)} of {_list(node.values)}"
        )
    if isinstance(node, Product):
        made = ", ".join(map(_array, node.buffers))
        results = zip(node.buffers, node.targets, node.values, strict=True)
        stored = "; ".join(f"{b.name}[{_list(t)}] = {v!r}" for b, t, v in results)
        return (
            f"product {made} over {_axes(node.axes)}: {node.sum} = sum over "
            f"{_axes((node.term,))} of {node.left!r} * {node.right!r}; {stored}"
        )
    if isinstance(node, Scan):
        made = ", ".join(map(_array, node.buffers))
        along = node.axes[node.along].digit
        return (
            f"scan   {made} over {_axes(node.axes)}: {node.kind} along {along!r} "
            f"of {node.value!r}"
        )
    if isinstance(node, Scatter):
        where = "" if node.condition is None else f" where {node.condition!r}"
        return (
            f"scatter {_array(node.buffer)} = {node.base} with "
            f"[{_list(node.target)}] {node.mode} {node.value!r} over "
            f"{_axes(node.axes)}{where}"
        )
    if isinstance(node, Assign):
        return f"assign {node.target} over {_axes(node.axes)}: {node.value!r}"
    return describe_step(node)


def describe_step(step: Step) -> str:
    """Return a step as text."""
    if isinstance(step, Alias):
        return f"alias  {_array(step.buffer)} of {step.base}"
    if isinstance(step, Extern):
        return _extern(step)
    if isinstance(step, Allocate):
        reuse = f" in the memory of {step.reuse}" if step.reuse else ""
        return f"take   {_array(step.buffer)}{reuse}"
    if isinstance(step, Free):
        return f"free   {step.name}"
    return describe_kernel(step)


def describe_kernel(kernel: Kernel) -> str:
    """Return a kernel as text: a line for its axes, one for each stage and reason."""
    over = f" and inner {_axes(kernel.inner)}" if kernel.inner else ""
    lines = [f"kernel {kernel.name} over {_axes(kernel.outer)}{over}"]
    lines += [f"    {_stage(stage)}" for stage in kernel.stages]
    lines += [f"    sees {_array(buffer)}" for buffer in kernel.buffers.values()]
    lines += [f"    from {origin}" for origin in kernel.origins]
    lines += [f"    because {reason}" for reason in kernel.reasons]
    return "\n".join(lines)


def _stage(stage: Stage) -> str:
    if isinstance(stage, Reduction):
        names = ", ".join(stage.results)
        rows = " over rows" if stage.folded else ""
        return f"{names} = {stage.reducer}{rows} of {_list(stage.values)}"
    if isinstance(stage, Prefix):
        return f"{', '.join(stage.results)} = running {stage.kind} of {stage.value!r}"
    assert isinstance(stage, Store)
    where = "" if stage.condition is None else f" where {stage.condition!r}"
    mode = "" if stage.mode == "set" else f" {stage.mode}"
    once = "" if stage.inner else " once"
    once += " after all rows" if stage.folded else ""
    return f"{stage.buffer}[{_list(stage.target)}] ={mode} {stage.value!r}{where}{once}"


def _extern(node: Extern) -> str:
    made = ", ".join("_" if b is None else _array(b) for b in node.outputs)
    args = [_argument(value) for value in node.args]
    args += [f"{name}={_argument(value)}" for name, value in node.kwargs.items()]
    writes = f", writes {', '.join(node.mutates)}" if node.mutates else ""
    text = f"extern {made} = {node.target}({', '.join(args)}){writes}"
    if node.reason:
        text += f"\n    because {node.reason}"
    if node.origin:
        text += f"\n    from {node.origin}"
    return text


def _argument(value: Any) -> str:
    if isinstance(value, Reference):
        return value.name
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_argument, value))}]"
    return repr(value)


def _input(value: Buffer | Expression) -> str:
    return _array(value) if isinstance(value, Buffer) else repr(value)


def _array(buffer: Buffer) -> str:
    strides = "" if buffer.strides is None else f" by ({_list(buffer.strides)})"
    offset = "" if buffer.offset is None else f" from {buffer.offset!r}"
    where = "" if buffer.device == "cpu" else f" on {buffer.device}"
    shape = f"({_list(buffer.shape)})"
    return f"{buffer.name}: {buffer.dtype} {shape}{strides}{offset}{where}"


def _axes(axes: Sequence[Axis]) -> str:
    return f"({', '.join(f'{axis.digit!r} < {axis.extent!r}' for axis in axes)})"


def _list(values: Iterable[Any]) -> str:
    return ", ".join(
        value if isinstance(value, str) else repr(value) for value in values
    )
