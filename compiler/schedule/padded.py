"""Rows of matrices aligned for the library's products on a GPU.

Half-precision products run at a fraction of their speed where the step between rows of
a factor or of the result is no multiple of 16 bytes, as with a vocabulary of 50257. The
extents may be what they are: only the step is rounded up, so no element moves twice,
and odd extents are dealt with by :mod:`~compiler.schedule.products`. Arrays that nobody
but kernels, products and their own views read get such strides for nothing. Others are
copied, where the product gains more time than the copy takes.
"""

from dataclasses import replace

from compiler.cost.product import LIBRARY, Library
from compiler.ir.expression import Expression
from compiler.ir.index import index
from compiler.ir.node import (
    Alias,
    Buffer,
    Extern,
    Map,
    Node,
    Program,
    Reduce,
    Scan,
    Scatter,
    written,
)

from .arrays import loaded, mutated, reads, referring
from .products import FACTORS, Product, products, seconds
from .rows import ALIGNMENT, Layout, layout_of, rounded
from .views import with_views


def with_padded_rows(
    program: Program,
    notes: list[str],
    device: str = "cuda",
    library: Library = LIBRARY,
) -> Program:
    """Return the program with aligned rows for its products, where that pays.

    Law: the program computes the same; arrays that leave it otherwise than for the
    backward pass, and what other calls get, keep their strides.

    Args:
        program: Before views are decided.
        notes: Gets what was padded and why.
        device: Where products are looked at.
        library: What products and copies take.
    """
    found = [
        product
        for product in products(program, device)
        if library.seconds(product.operations, min(library.rates)) > library.launch
    ]
    buffers = program.buffers()
    names = {name for product in found for name in product.arrays}
    known = [layout for name in names if (layout := layout_of(buffers[name]))]
    if all(layout.alignment == ALIGNMENT for layout in known):
        return program
    return _Padding(program, found, library, notes).run()


class _Padding:
    """Decides which storages are spread, and which arrays are copied."""

    def __init__(
        self,
        program: Program,
        found: list[Product],
        library: Library,
        notes: list[str],
    ) -> None:
        viewed = with_views(program, [])
        self.program = program
        self.found = found
        self.library = library
        self.notes = notes
        self.buffers = viewed.buffers()
        self.bases = {
            n.buffer.name: n.base for n in viewed.nodes if isinstance(n, Alias)
        }
        self.layouts = {name: layout_of(b) for name, b in self.buffers.items()}
        self.makers = {b.name: n for n in viewed.nodes for b in written(n)}
        self.members: dict[str, list[str]] = {}
        for name in self.buffers:
            self.members.setdefault(self._root(name), []).append(name)
        self.changed = {self._root(n) for node in viewed.nodes for n in mutated(node)}
        # storages that somebody reads who relies on their strides
        self.fixed = {self._root(name) for name in program.leaving()} | self.changed
        for node in viewed.nodes:
            if isinstance(node, Extern):
                if str(node.target) not in FACTORS:
                    self.fixed.update(map(self._root, reads(node)))
                self.fixed.update(map(self._root, node.aliases))
            elif isinstance(node, Scatter):
                self.fixed.add(self._root(node.base))
        # with gaps in the result, the library writes and reads the bias as a matrix
        self.biased = {product.result.name for product in found if product.bias}
        self.spread: set[str] = set()  # members of storages with wider rows
        self.copied: dict[str, Layout] = {}  # array -> its copy's layout
        self.shared: dict[tuple[object, ...], str] = {}  # place -> array to copy

    def _root(self, name: str) -> str:
        while name in self.bases:
            name = self.bases[name]
        return name

    def run(self) -> Program:
        for product in self.found:
            for name in product.arrays:
                if self._root(name) not in self.biased:
                    self._spread(name)
        waiting = self.found
        while waiting:
            left = [product for product in waiting if not self._decide(product)]
            if len(left) == len(waiting):
                break
            waiting = left
        if not self.spread and not self.copied:
            return self.program
        return _Rewriting(self).program()

    # for nothing

    def _spread(self, name: str) -> bool:
        """Give the storage of a matrix wider rows, if nobody relies on them."""
        wide = self._wider(name)
        if wide:
            self.layouts.update(wide)
            self.spread.update(wide)
            root = self._root(name)
            self.notes.append(f"{root} has aligned rows for products: no data moves")
        return bool(wide)

    def _wider(self, name: str) -> dict[str, Layout]:
        """Return the layouts of all arrays of a storage whose rows can get wider."""
        layout, root = self.layouts[name], self._root(name)
        if layout is None or not layout.is_matrix or layout.alignment == ALIGNMENT:
            return {}
        maker = self.makers.get(root)
        product = isinstance(maker, Extern) and str(maker.target) in FACTORS
        if root in self.fixed or not (product or isinstance(maker, Map)):
            return {}
        misaligned = [s for s in layout.steps if s * layout.size % ALIGNMENT]
        if not misaligned:
            return {}
        row = min(misaligned)
        wide: dict[str, Layout] = {}
        for member in self.members[root]:
            old = self.layouts[member]
            new = old and old.spread(row, rounded(row, layout.size))
            if new is None:
                return {}
            wide[member] = new
        return wide if wide[name].alignment > layout.alignment else {}

    # by copies

    def _decide(self, product: Product) -> bool:
        """Copy what keeps a product slow, if that pays; return whether it is fast."""
        before: list[Layout] = []
        chosen: list[str] = []
        copying = 0.0
        for name in product.arrays:
            layout = self._seen(name)
            if layout is None or not layout.is_matrix:
                return False
            before.append(layout)
            if layout.alignment == ALIGNMENT:
                continue
            spreads = bool(self._wider(name))
            if not spreads and (self._root(name) in self.changed or _has_odd(layout)):
                return False
            passes = (not spreads) + (self._root(name) in self.biased)
            moved = 2 * layout.size * layout.elements * passes
            copying += self.library.copying(moved)
            chosen.append(name)
        after = [m if m.alignment == ALIGNMENT else m.padded() for m in before]
        dtype = product.result.dtype
        gain = seconds(before, dtype, self.library)
        gain -= seconds(after, dtype, self.library)
        if chosen and gain <= copying:
            return False
        for name in chosen:
            if not self._spread(name):
                self._copy(name)
        return True

    def _seen(self, name: str) -> Layout | None:
        """Return the layout that products see: the copy's, if there is one."""
        layout = self.layouts[name]
        if name in self.copied:
            return self.copied[name]
        if layout is None or self._place(name, layout) not in self.shared:
            return layout
        return layout.padded()

    def _place(self, name: str, layout: Layout) -> tuple[object, ...]:
        pairs = sorted(zip(layout.strides, layout.shape, strict=True))
        return (self._root(name), layout.offset, tuple(pairs))

    def _copy(self, name: str) -> None:
        layout = self.layouts[name]
        assert layout is not None
        if self.shared.setdefault(self._place(name, layout), name) == name:
            self.copied[name] = layout.padded()
            self.notes.append(f"{name} is copied to aligned rows for products")


class _Rewriting:
    """Writes the program that was decided on."""

    def __init__(self, padding: _Padding) -> None:
        self.padding = padding
        self.results = {product.result.name for product in padding.found}
        self.calls = {id(product.call): product for product in padding.found}
        self.matrix: dict[str, str] = {}  # array -> what products read instead
        self.out: list[Node] = []

    def program(self) -> Program:
        for node in self.padding.program.nodes:
            if isinstance(node, Extern) and str(node.target) in FACTORS:
                self._product(node)
            else:
                self.out.append(self._laid_out(node))
        return replace(self.padding.program, nodes=tuple(self.out))

    def _laid_out(self, node: Node) -> Node:
        if isinstance(node, (Map, Alias)):
            return replace(node, buffer=self._buffer(node.buffer))
        if isinstance(node, (Reduce, Scan)):
            return replace(node, buffers=tuple(map(self._buffer, node.buffers)))
        return node

    def _buffer(self, buffer: Buffer) -> Buffer:
        if buffer.name not in self.padding.spread:
            return buffer
        layout = self.padding.layouts[buffer.name]
        assert layout is not None
        offset = None if buffer.offset is None else index(layout.offset)
        return replace(buffer, strides=_indices(layout.strides), offset=offset)

    def _product(self, node: Extern) -> None:
        renamed: dict[str, str] = {}
        for name in reads(node):
            if id(node) not in self.calls:
                break
            if name in self.calls[id(node)].factors:
                renamed[name] = self._factor(name)
        (old,) = node.outputs
        assert old is not None
        result = self._buffer(old)
        copied = old.name in self.padding.copied and old.name in self.results
        if copied:
            name = f"{old.name}_padded"
            strides = _indices(self.padding.copied[old.name].strides)
            result = replace(old, name=name, strides=strides)
            self.matrix[old.name] = name
        args = tuple(referring(arg, renamed) for arg in node.args)
        self.out.append(replace(node, args=args, outputs=(result,)))
        if copied:
            self.out.append(loaded(old, result.name))

    def _factor(self, name: str) -> str:
        """Return the aligned array that stands for a factor."""
        layout = self.padding.layouts[name]
        if layout is None or layout.alignment == ALIGNMENT:
            return name
        if name in self.matrix:
            return self.matrix[name]
        first = self.padding.shared.get(self.padding._place(name, layout))
        if first is None:
            return name
        old = self.padding.buffers[name]
        fresh = replace(
            old,
            name=f"{name}_padded",
            strides=_indices(layout.padded().strides),
            offset=None,
        )
        other = self.padding.layouts[first]
        assert other is not None
        if first not in self.matrix:
            # whoever comes first has the copy made
            self.padding.shared[self.padding._place(name, layout)] = first = name
            self.out.append(loaded(fresh, name))
        elif other.strides == layout.strides:
            fresh = replace(fresh, name=self.matrix[first])
        else:
            order = _order(other, layout)
            self.out.append(loaded(fresh, self.matrix[first], order))
        self.matrix[name] = fresh.name
        return fresh.name


def _has_odd(layout: Layout) -> bool:
    """Return whether a copy would have more elements, or dims in no known order."""
    return 0 in layout.strides or 1 in layout.shape


def _order(base: Layout, view: Layout) -> list[int]:
    """Return for each dim of a base the dim of a view that it is."""
    of_base = sorted(zip(base.strides, base.shape, range(len(base.shape)), strict=True))
    of_view = sorted(zip(view.strides, view.shape, range(len(view.shape)), strict=True))
    pairs = {b[2]: v[2] for b, v in zip(of_base, of_view, strict=True)}
    return [pairs[dim] for dim in range(len(base.shape))]


def _indices(numbers: tuple[int, ...]) -> tuple[Expression, ...]:
    return tuple(map(index, numbers))
