"""Each element that a fused kernel reads is the one that the unfused program reads.

What a kernel stores is matched with the definition of the array, as the program had it
before anything was inlined, fused or merged. An array that scheduling has invented (the
results of chunks, a copy) is replaced by what its kernel stores.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from compiler.ir.expression import Expression, make, rewrite, substitute
from compiler.ir.index import add, constant_value, index, mul, product, unflatten
from compiler.ir.kernel import (
    Kernel,
    Prefix,
    Reduction,
    Schedule,
    Store,
    folded_axes,
)
from compiler.ir.node import (
    Alias,
    Axis,
    Buffer,
    Map,
    Program,
    Reduce,
    Reference,
    Scan,
    Scatter,
)
from compiler.ir.operations import type_class
from compiler.ir.scalar import constant
from verify.symbolic.question import Solver

from .calls import Renamed, arguments, is_same, renamed_results
from .definitions import (
    Definition,
    Definitions,
    scheduled_arrays,
)
from .matching import UNKNOWN, Mismatch, Walk, count_is
from .moments import moments
from .multiplied import replaced_calls
from .places import UnplacedError, cut_where_divided, position_of, solved
from .prepared import Fold, Prepared, prepared
from .stores import axes_of, is_mixed_radix

SMALL = 16
"""Elements of a reduction that may have been written out, at most."""

_WRITTEN_OUT = {
    "sum": "add",
    "product": "mul",
    "maximum": "maximum",
    "minimum": "minimum",
    "any": "bitwise_or",
    "all": "bitwise_and",
    "xor": "bitwise_xor",
}


class Reads:
    """Compares the kernels of a schedule with a program."""

    def __init__(
        self, program: Program, schedule: Schedule, solver: Solver | None = None
    ) -> None:
        products = replaced_calls(program, schedule)
        self.definitions = Definitions.read(program, products)
        self.schedule = schedule
        self.solver = solver or Solver()
        self.inputs = {b.name for b in program.inputs if isinstance(b, Buffer)}
        self.arrays = {**self.definitions.arrays, **scheduled_arrays(schedule)}
        self.calls = {
            name: call
            for name, call in renamed_results(program, schedule).items()
            if self.definitions.storage.root(call.known_as)
            not in self.definitions.writes
        }
        known_as = {name: call.known_as for name, call in self.calls.items()}
        self.prepared = prepared(schedule, self.arrays, self.inputs, known_as)
        self.makers: dict[str, list[tuple[Prepared, int]]] = {}
        for made in self.prepared.values():
            if isinstance(made, Prepared):
                for number, stage in enumerate(made.stages):
                    if isinstance(stage, Store):
                        self.makers.setdefault(stage.buffer, []).append((made, number))
        self.folds: dict[str, Fold] = {}
        self.doubts: dict[str, str] = {}

    # one kernel

    def verdict(self, kernel: Kernel) -> Verdict:
        """Decide that a kernel stores what the program defines.

        Returns:
            ``Refuted`` with the element and what is read instead; ``Unknown`` with
            the construct that was not followed.
        """
        made = self.prepared[kernel.name]
        if isinstance(made, str):
            return Unknown(made)
        reads = 0
        unknown = self._doubted(kernel)
        for number, name in made.written.items():
            stage = made.stages[number]
            assert isinstance(stage, Store)
            walk = self._walk(made)
            try:
                found = self._store(made, stage, name, walk)
            except UnplacedError as error:
                found = Mismatch(str(error))
            reads += walk.reads
            if found is None:
                continue
            if found.wrong:
                facts = {"array": stage.buffer, "is": found.text}
                return Refuted({**facts, **dict(found.point)})
            if unknown is None:
                unknown = Unknown(f"{stage.buffer}: {found.text}"[:300])
        if unknown is not None:
            return unknown
        return Proved("matching with the definitions", (("reads", reads),))

    def _doubted(self, kernel: Kernel) -> Unknown | None:
        """Return why a result that a kernel reads may be another call's."""
        for name in kernel.buffers:
            if name in self.calls and name not in self.doubts:
                self.doubts[name] = self.doubt(self.calls[name])
            if self.doubts.get(name):
                return Unknown(self.doubts[name][:300])
        return None

    def doubt(self, call: Renamed) -> str:
        """Return in which argument a call differs from the one meant, "" in none.

        Arrays with other strides are the same where each element is.
        """
        mine = (call.call.args, dict(call.call.kwargs))
        meant = (call.meant.args, dict(call.meant.kwargs))
        for one, other in arguments(mine, meant):
            if is_same(one, other):
                continue
            arrays = isinstance(one, Reference) and isinstance(other, Reference)
            if not arrays or not self._equal_arrays(one.name, other.name):
                return f"{call.name} is of {one}, where {call.known_as} is of {other}"
        return ""

    def _equal_arrays(self, name: str, meant: str) -> bool:
        if name in self.calls:
            return self.calls[name].known_as == meant
        if len(self.makers.get(name, [])) != 1 or name in self.definitions.arrays:
            return False
        made, number = self.makers[name][0]
        store = made.stages[number]
        assert isinstance(store, Store)
        if store.mode != "set" or store.condition is not None:
            return False
        load = make("load", store.target, store.value.dtype, meant)
        return self._walk(made).same(store.value, load) is None

    def _walk(self, made: Prepared) -> Walk:
        axes = (*made.kernel.outer, *made.kernel.inner)
        for stage in made.stages:
            if isinstance(stage, Reduction | Prefix):
                for number, result in enumerate(stage.results):
                    self.folds[result] = Fold(made, stage, number, {})
        extents = {axis.digit: axis.extent for axis in axes}
        return Walk(self, extents, dict(self.schedule.least), self.solver)

    def _store(
        self, made: Prepared, store: Store, name: str, walk: Walk
    ) -> Mismatch | None:
        array, _, change = name.partition("@")
        if change:
            root = self.definitions.storage.root(array)
            changes = self.definitions.writes.get(root, [])
            definition = changes[int(change)] if int(change) < len(changes) else None
        else:
            definition = self.definitions.of.get(array)
            if definition is None:
                return None  # scheduling's own: what reads it is checked
        if definition is None:
            return Mismatch(f"the program does not change {array} here")
        if isinstance(definition.node, Scatter):
            return self._scattered(made, store, definition, walk)
        if store.mode != "set" or store.condition is not None:
            return Mismatch(f"{array} is changed, where the program makes it")
        if change:
            value = self._at(definition, store.target)
            return walk.same(store.value, value)
        load = make("load", store.target, store.value.dtype, array)
        if isinstance(definition.node, Map):
            return walk.same(store.value, self._at(definition, store.target))
        return walk.same(store.value, load)

    def _scattered(
        self, made: Prepared, store: Store, definition: Definition, walk: Walk
    ) -> Mismatch | None:
        node = definition.node
        assert isinstance(node, Scatter)
        if store.mode == "set" and store.condition is None and store.injective:
            base = self.definitions.base_of(node, store.target)
            if walk.same(store.value, base) is None:
                return None
        if store.mode != node.mode or len(store.target) != len(node.target):
            return Mismatch(f"{store.buffer} is scattered in another mode")
        kernel = made.kernel
        axes = (*kernel.outer, *kernel.inner) if store.inner else kernel.outer
        if count_is(
            product(a.extent for a in axes), product(a.extent for a in node.axes), walk
        ):
            rows = _rows(axes, node.axes, walk)
            if self._target(store, definition, rows, walk) is None:
                return None
        to = self._unknown(node.axes, walk)
        found = self._target(store, definition, to, walk)
        before = self.definitions.of.get(node.base)
        if (
            found is not None
            and before is not None
            and isinstance(before.node, Scatter)
        ):
            # which of the scatters into one array this is, is not told
            found = replace(found, wrong=False)
        return found

    def _target(
        self,
        store: Store,
        definition: Definition,
        to: Mapping[Expression, Expression],
        walk: Walk,
    ) -> Mismatch | None:
        """Compare where, whether and what is scattered."""
        node = definition.node
        assert isinstance(node, Scatter)
        value, *rest = (substitute(v, to) for v in definition.values)
        for mine, theirs in zip(store.target, rest, strict=False):
            found = walk.index(mine, theirs)
            if found is not None:
                return replace(found, wrong=False)
        if (store.condition is None) != (node.condition is None):
            return Mismatch(f"{store.buffer} is scattered under another condition")
        if store.condition is not None:
            found = walk.same(store.condition, rest[-1])
            if found is not None:
                return found
        return walk.same(store.value, value)

    # what loads mean

    def _unknown(
        self, axes: Iterable[Axis], walk: Walk
    ) -> dict[Expression, Expression]:
        return {axis.digit: walk.new(UNKNOWN, axis.extent) for axis in axes}

    def _at(
        self,
        definition: Definition,
        at: Sequence[Expression],
        inner: Mapping[Expression, Expression] | None = None,
    ) -> Expression:
        """Return an array's value at a point, with its reduced digits replaced.

        All at once: a kernel's digits may be called as the definition's are.
        """
        to = {
            axis.digit: place for axis, place in zip(definition.axes, at, strict=True)
        }
        return substitute(definition.values[0], {**to, **(inner or {})})

    def defined_value(self, load: Expression, walk: Walk) -> Expression | None:
        """Return what the program says an element is; None for what it is given.

        A reduction of few elements is written out in order.
        """
        definition = self.definitions.of.get(str(load.data))
        if definition is None:
            return None
        node = definition.node
        if isinstance(node, Map):
            return self._at(definition, load.args)
        if isinstance(node, Reduce):
            return self._written_out(definition, node, load, walk)
        return None

    def _written_out(
        self, definition: Definition, node: Reduce, load: Expression, walk: Walk
    ) -> Expression | None:
        extents = [constant_value(axis.extent) for axis in node.reduced]
        total = 1
        for extent in extents:
            total *= SMALL + 1 if extent is None else extent
        combine = _WRITTEN_OUT.get(node.reducer)
        if not 1 <= total <= SMALL or (combine is None and total > 1):
            return None
        if combine is None:
            return None
        result: Expression | None = None
        if node.reducer == "sum" and type_class(load.dtype) == "float":
            result = constant(0, load.dtype)
        for position in range(total):
            places = unflatten(index(position), [axis.extent for axis in node.reduced])
            at = {
                axis.digit: place
                for axis, place in zip(node.reduced, places, strict=True)
            }
            one = self._at(definition, load.args, at)
            result = one if result is None else make(combine, (result, one), one.dtype)
        return result

    def shape(self, load: Expression) -> Sequence[Expression] | None:
        """Return the extents of an array that is read."""
        array = self.arrays.get(str(load.data).partition("@")[0])
        return None if array is None else array.shape

    def kernel_value(self, load: Expression, walk: Walk) -> Expression | None:
        """Return what the kernels store where a load reads; None: it is not known."""
        name = str(load.data)
        definition = self.definitions.of.get(name)
        if definition is not None:
            if isinstance(definition.node, Map):
                return self._at(definition, load.args)
            return None
        makers = self.makers.get(name, [])
        if len(makers) != 1 or name in self.inputs:
            return None
        made, number = makers[0]
        store, given = made.stages[number], made.kernel.stages[number]
        assert isinstance(store, Store) and isinstance(given, Store)
        if store.mode != "set" or store.condition is not None:
            return None
        kernel = made.kernel
        axes = axes_of(kernel, store.inner, store.folded)
        there = position_of(self.arrays[name], load.args)
        at = solved(
            kernel.buffers[name], given.target, axes, there, walk.ranges, walk.least
        )
        return self._moved(made, store.value, at)

    def _moved(
        self,
        made: Prepared,
        value: Expression,
        at: Mapping[Expression, Expression],
    ) -> Expression:
        """Return a kernel's value at another point; its results get names of it."""
        own = {
            result: (stage, number)
            for stage in made.stages
            if isinstance(stage, Reduction | Prefix)
            for number, result in enumerate(stage.results)
        }

        def change(node: Expression) -> Expression:
            if node.op == "digit":
                return at.get(node, node)
            if node.op == "local" and str(node.data) in own:
                stage, number = own[str(node.data)]
                place = ", ".join(map(repr, at.values()))
                name = f"{made.kernel.name}.{node.data}[{place}]"
                self.folds[name] = Fold(made, stage, number, at)
                return make("local", (), node.dtype, name)
            return node

        return rewrite(value, change)

    def together(
        self, mine: Expression, theirs: Expression, walk: Walk
    ) -> Mismatch | None:
        """Compare a computation with a result that may be made in several steps."""
        definition = self.definitions.of.get(str(theirs.data))
        if definition is not None and _is_welford(definition):
            return moments(self, mine, theirs, definition, walk)
        return Mismatch(f"the kernel computes {mine.op} where {theirs.data} is read")

    def alike(
        self, mine: Expression, theirs: Expression, walk: Walk
    ) -> Mismatch | None:
        """Compare elements of two arrays that are no maps."""
        text = f"the kernel reads {mine.data} where {theirs.data} is meant"
        one = self.definitions.of.get(str(mine.data))
        other = self.definitions.of.get(str(theirs.data))
        if one is None and other is None:
            plain = {str(name.data).partition("@")[0] for name in (mine, theirs)}
            return Mismatch(text, wrong=plain <= self.inputs)
        if one is None or other is None or one.result != other.result:
            return Mismatch(text)
        if isinstance(one.node, Reduce) and isinstance(other.node, Reduce):
            return self._equal_reductions(one, other, mine, theirs, walk)
        if isinstance(one.node, Scan) and isinstance(other.node, Scan):
            same = (one.node.kind, one.node.along) == (
                other.node.kind,
                other.node.along,
            )
            if not same:
                return Mismatch(text)
            return walk.same(self._at(one, mine.args), self._at(other, theirs.args))
        return Mismatch(text)

    def _equal_reductions(
        self,
        one: Definition,
        other: Definition,
        mine: Expression,
        theirs: Expression,
        walk: Walk,
    ) -> Mismatch | None:
        assert isinstance(one.node, Reduce) and isinstance(other.node, Reduce)
        if one.node.reducer != other.node.reducer:
            return Mismatch(f"{one.node.reducer} where {other.node.reducer} is meant")
        axes = one.node.reduced
        digits = {a.digit: walk.new("same", a.extent) for a in axes}
        body = self._at(one, mine.args, digits)
        inner = [Axis(digits[a.digit], a.extent) for a in axes]
        return self.bodies(body, inner, other, theirs, walk)

    # reductions and scans

    def folded(
        self, local: Expression, load: Expression, walk: Walk
    ) -> Mismatch | None:
        """Compare a reduction or scan of a kernel with one of the program."""
        fold = self.folds.get(str(local.data))
        definition = self.definitions.of.get(str(load.data))
        if fold is None or definition is None:
            return Mismatch(f"the kernel computes {local.data}, given is {load.data}")
        if isinstance(fold.stage, Prefix):
            return self._scanned(fold, definition, load, walk)
        node = definition.node
        if _is_welford(definition) and fold.stage.reducer == "sum":
            return moments(self, local, load, definition, walk)
        if not isinstance(node, Reduce) or definition.result != fold.result:
            return Mismatch(f"the kernel reduces where {load.data} is meant")
        if fold.stage.reducer != node.reducer:
            return Mismatch(
                f"the kernel takes {fold.stage.reducer} where {node.reducer} is meant"
            )
        body, inner = self.body(fold, walk)
        while body.op == "load":
            nested = self._chunk(body, node.reducer, walk)
            if nested is None:
                break
            body, more = nested
            inner += more
        return self.bodies(body, inner, definition, load, walk)

    def body(self, fold: Fold, walk: Walk) -> tuple[Expression, list[Axis]]:
        """Return what a reduction reduces, over digits that are known to the walk."""
        stage = fold.stage
        axes = fold.prepared.kernel.inner
        if isinstance(stage, Reduction) and stage.folded:
            axes = folded_axes(fold.prepared.kernel.outer, fold.prepared.stages)
        value = stage.values[0] if isinstance(stage, Reduction) else stage.value
        if not fold.at:
            return value, list(axes)
        fresh = {axis.digit: walk.new("part", axis.extent) for axis in axes}
        moved = self._moved(fold.prepared, value, {**fold.at, **fresh})
        return moved, [Axis(fresh[axis.digit], axis.extent) for axis in axes]

    def _chunk(
        self, load: Expression, reducer: str, walk: Walk
    ) -> tuple[Expression, list[Axis]] | None:
        """Return what a chunk of a reduction reduces; None: it is no chunk."""
        if str(load.data) in self.definitions.of:
            return None
        value = self.kernel_value(load, walk)
        if value is None or value.op != "local":
            return None
        fold = self.folds[str(value.data)]
        if not isinstance(fold.stage, Reduction) or fold.stage.reducer != reducer:
            return None
        if reducer not in _WRITTEN_OUT:
            return None
        return self.body(fold, walk)

    def bodies(
        self,
        body: Expression,
        inner: list[Axis],
        definition: Definition,
        load: Expression,
        walk: Walk,
    ) -> Mismatch | None:
        """Compare what is reduced, and over how many elements."""
        node = definition.node
        assert isinstance(node, Reduce)
        mine = product(axis.extent for axis in inner)
        theirs = product(axis.extent for axis in node.reduced)
        if not count_is(mine, theirs, walk):
            return Mismatch(f"{mine} elements are reduced where {theirs} are meant")
        rows = _rows(inner, node.reduced, walk)
        first = walk.same(body, self._at(definition, load.args, rows))
        if first is None or node.reducer.startswith("arg"):
            return first
        saved = dict(walk.bound)
        unknown = self._unknown(node.reduced, walk)
        found = walk.same(body, self._at(definition, load.args, unknown))
        if found is not None:
            walk.bound = saved
            return first if first.wrong == found.wrong else replace(first, wrong=False)
        known = [walk.bound[d] for d in unknown.values() if d in walk.bound]
        axes = [axis for axis in inner if constant_value(axis.extent) != 1]
        known, axes = cut_where_divided(known, axes, lambda e: walk.new("cut", e))
        known = [walk.simplify(place) for place in known]
        if len(known) == len(unknown) and is_mixed_radix(known, axes, walk.ranges):
            return None
        return Mismatch("elements of a reduction may be taken twice")

    def _scanned(
        self, fold: Fold, definition: Definition, load: Expression, walk: Walk
    ) -> Mismatch | None:
        node, stage = definition.node, fold.stage
        assert isinstance(stage, Prefix)
        if not isinstance(node, Scan) or definition.result != fold.result:
            return Mismatch(f"the kernel scans where {load.data} is meant")
        if stage.kind != node.kind:
            return Mismatch(f"the kernel scans by {stage.kind}, not {node.kind}")
        (axis,) = fold.prepared.kernel.inner
        along = load.args[node.along]
        if fold.at or walk.index(axis.digit, along) is not None:
            return Mismatch(f"a scan of {load.data} is read at another point")
        if not count_is(axis.extent, node.axes[node.along].extent, walk):
            return Mismatch(f"a scan of {load.data} has another length")
        return walk.same(stage.value, self._at(definition, load.args))

    # views

    def views(self) -> Verdict:
        """Decide that each view shows the elements that the program says it has."""
        for step in self.schedule.steps:
            if not isinstance(step, Alias):
                continue
            definition = self.definitions.of.get(step.buffer.name)
            base = self.arrays.get(step.base)
            if definition is None or base is None:
                continue
            axes = definition.axes
            extents = {axis.digit: axis.extent for axis in axes}
            walk = Walk(self, dict(extents), dict(self.schedule.least), self.solver)
            value = definition.values[0]
            while value.op == "load" and value.data != step.base:
                inner = self.defined_value(value, walk)
                if inner is None:
                    break
                value = inner
            if value.op != "load" or value.data != step.base:
                return Unknown(f"{step.buffer.name} shows {step.base} in another way")
            here = position_of(step.buffer, [axis.digit for axis in axes])
            there = position_of(base, value.args)
            here = add(here, step.buffer.offset or 0)
            there = add(there, base.offset or 0)
            found = walk.index(here, there)
            if found is not None:
                if found.wrong:
                    facts = {"view": step.buffer.name, "is": found.text}
                    return Refuted({**facts, **dict(found.point)})
                return Unknown(f"{step.buffer.name}: {found.text}"[:300])
        return Proved("positions")


def _is_welford(definition: Definition) -> bool:
    return isinstance(definition.node, Reduce) and definition.node.reducer == "welford"


def _rows(
    axes: Sequence[Axis], others: Sequence[Axis], walk: Walk
) -> dict[Expression, Expression]:
    """Return the other loops' digits by the row-major position in the first loops."""
    position = index(0)
    for axis in axes:
        position = add(mul(position, axis.extent), axis.digit)
    places = unflatten(position, [axis.extent for axis in others])
    return {
        axis.digit: walk.simplify(place)
        for axis, place in zip(others, places, strict=True)
    }
