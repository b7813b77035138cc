"""From a program to a schedule: the passes in order."""

from collections.abc import Callable

from compiler.ir.kernel import Schedule
from compiler.ir.node import Alias, Buffer, Extern, Product, Program
from compiler.options import Options

from .arrays import reads, without_dead
from .assemble import assembled, with_default_strides
from .canonical import canonical
from .channels import with_channels_last
from .column_sums import with_column_sums
from .epilogues import with_epilogues
from .groups import grouped
from .inline import inlined
from .long_scans import with_long_scans
from .memory import planned
from .padded import with_padded_rows
from .products import product_parts
from .reductions import with_fit_reductions
from .scatters import with_bases_copied, with_temporaries
from .siblings import with_siblings
from .twins import without_twins
from .views import with_views

Observer = Callable[[str, Program], None]
"""Called with a pass's name and the program that it left."""


def schedule(
    program: Program,
    options: Options | None = None,
    observer: Observer | None = None,
) -> Schedule:
    """Return a program as kernels, calls, aliases and memory.

    Law: the schedule computes what the program does; floating sums may be associated
    in another way.

    Args:
        program: From ``lower``.
        options: Devices' threads, determinism.
        observer: Sees the program after each pass that gives one.
    """
    options = options or Options()
    notes: list[str] = []

    def seen(name: str, result: Program) -> Program:
        if observer is not None:
            observer(name, result)
        return result

    program = seen("live", without_dead(program))
    program = seen("canonical", canonical(program))
    program = seen("scatters", with_bases_copied(program, notes))
    program = seen("twins", without_twins(program, notes))
    program = seen("inlined", without_dead(inlined(program, notes)))
    program = seen("twins again", without_twins(program, notes))
    program = seen("channels", with_channels_last(program, notes))
    program = seen("padded", with_padded_rows(program, notes))
    program = seen("temporaries", with_temporaries(program, notes))
    program = seen("scans", with_long_scans(program, options, notes))
    program = seen("reductions", with_fit_reductions(program, options, notes))
    program = seen("views", with_views(program, notes))
    program = seen("epilogues", with_epilogues(program, options, notes))
    graph = grouped(program)
    buffers = program.buffers()
    with_default_strides(buffers, _demanded(program))
    with_column_sums(graph, buffers, options)
    with_siblings(graph, buffers)
    steps = assembled(graph, buffers, notes)
    inputs = [b.name for b in program.inputs if isinstance(b, Buffer)]
    outputs = [name for name in program.outputs if isinstance(name, str)]
    ending, donated = program.ending, program.donated
    plan = planned(steps, buffers, inputs, outputs, ending, donated)
    notes += plan.notes
    parts = product_parts(program.inputs, plan.steps, notes)
    notes.append(f"peak memory: {plan.peak} bytes, of {plan.total} bytes made")
    strides = {n: found for n in program.free if (found := buffers[n].strides)}
    return Schedule(
        program.inputs,
        plan.steps,
        program.outputs,
        tuple(notes),
        dict(program.least),
        strides,
        parts,
        donated,
        plan.private,
    )


def _demanded(program: Program) -> set[str]:
    """Return the arrays that others than kernels see: row-major unless told."""
    names = {name for name in program.outputs if isinstance(name, str)}
    names |= {b.name for b in program.inputs if isinstance(b, Buffer)}
    for node in program.nodes:
        if isinstance(node, Product):
            # the library would have read them as they are, too
            names.update(str(load.data) for load in (node.left, node.right))
        if isinstance(node, Extern):
            names.update(reads(node))
            names.update(b.name for b in node.outputs if b is not None)
        elif isinstance(node, Alias):
            names.update(reads(node))
            names.add(node.buffer.name)
    return names & set(program.buffers())
