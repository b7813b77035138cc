"""Which dim of each array is adjacent in memory, before all strides are decided.

Inputs, results of calls and images with their channels last have strides; the others
will follow what they are made of, since loops take the layout of what they read. How a
reduction is shared out depends on it: neighbours that belong to different results are
reduced together.
"""

from collections import Counter
from collections.abc import Iterator

from compiler.ir.expression import Expression, leaves, loads
from compiler.ir.index import constant_value
from compiler.ir.node import Buffer, Map, Program, Reduce

from .strides import affine, offset_of
from .work import bytes_of, elements


class Adjacent:
    """The adjacent dims of a program's arrays."""

    def __init__(self, program: Program) -> None:
        """Go through the program once."""
        self._buffers = program.buffers()
        self._dims: dict[str, int] = {}
        for node in program.nodes:
            if isinstance(node, Map) and node.buffer.strides is None:
                self._follow(node)

    def digits(self, load: Expression) -> set[Expression]:
        """Return the digits that move a load to the next element in memory."""
        buffer = self._buffers[str(load.data)]
        if buffer.strides is None:
            dim = self._dims.get(buffer.name, -1)
            return set(leaves("digit", *load.args[dim:][:1]))
        steps, _ = affine(offset_of(load.args, buffer.strides))
        return {digit for digit, step in steps.items() if constant_value(step) == 1}

    def is_column_wise(self, node: Reduce) -> bool:
        """Return whether much of what a reduction reads is adjacent across results.

        Half as much as what is adjacent along what it reduces is enough: its kernel may
        then take neighbouring results together, and would have few programs.
        """
        reduced = {axis.digit for axis in node.reduced}
        bytes_read = Counter[bool]()
        for buffer, ones in self._read(node.values):
            bytes_read[not ones & reduced] += bytes_of(buffer)
        return 2 * bytes_read[True] > bytes_read[False]

    def _follow(self, node: Map) -> None:
        """Let a map's array lie as most of what it is made of."""
        dims = {axis.digit: dim for dim, axis in enumerate(node.axes)}
        votes = Counter[int]()
        total = elements(node.buffer.shape)
        for buffer, ones in self._read((node.value,)):
            if elements(buffer.shape) == total:
                votes.update({dims[d]: bytes_of(buffer) for d in ones if d in dims})
        if votes:
            self._dims[node.buffer.name] = votes.most_common(1)[0][0]

    def _read(
        self, values: tuple[Expression, ...]
    ) -> Iterator[tuple[Buffer, set[Expression]]]:
        for load in loads(*values):
            ones = self.digits(load)
            if ones:
                yield self._buffers[str(load.data)], ones
