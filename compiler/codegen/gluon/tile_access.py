"""Loads and stores of files: addresses, hints of alignment, and who does not store."""

from algebra.affine import AffineLayout
from algebra.bits import log2
from algebra.gauss import Echelon
from algebra.layout import LinearLayout
from compiler.assign.access import Access, access_of, position
from compiler.assign.laws import compact, from_columns, renaming, with_columns
from compiler.ir.expression import Expression, leaves
from compiler.ir.index import from_terms, terms
from compiler.ir.tile import TileLoad, TileStore

from .tile_printer import FilePrinter
from .tile_scalars import TYPES

WORD_BITS = 32


def load_lines(printer: FilePrinter, step: TileLoad, layout: LinearLayout) -> None:
    """Append a load: each element of a thread once, vectors in adjacent registers."""
    access = access_of(printer.graph, step)
    moved = _in_order(layout, access)
    name = step.result.name
    pointers, mask = _address(printer, step, moved, layout, access)
    other = f", other={step.other!r}" if mask else ""
    given = f", mask={mask}" if mask else ""
    printer.add(f"{name} = gl.load({pointers}{given}{other})")
    if step.result.dtype == "bool":
        printer.add(f"{name} = {name} != 0")
    source = renaming(moved, AffineLayout(layout))
    assert source is not None, "the same elements in each thread"
    printer.rename(name, source)


def word_elements(printer: FilePrinter, step: TileLoad, layout: LinearLayout) -> int:
    """Return how many elements ``load_words`` puts in a word; 1: it is not possible."""
    access = access_of(printer.graph, step)
    per_word = max(1, WORD_BITS // access.element_bits)
    vector = 1 << len(access.vector(_in_order(layout, access)))
    narrow = step.result.dtype != "bool" and not step.operands
    return per_word if narrow and per_word <= vector else 1


def load_words(
    printer: FilePrinter, step: TileLoad, layout: LinearLayout, name: str
) -> None:
    """Append a load of the words that a tile's elements are in, vectors as ever.

    Args:
        printer: Where it goes.
        step: The load; ``word_elements`` of it is above 1.
        layout: Of the tile.
        name: Of the words.
    """
    access = access_of(printer.graph, step)
    moved = _in_order(layout, access)
    drop = log2(word_elements(printer, step, layout))
    hardware = dict(zip(moved.in_names, moved.in_bits, strict=True))
    hardware["register"] -= drop
    coarse = from_columns(hardware, step.result.shape, moved.columns[drop:])
    vector = 1 << len(access.vector(moved)) - drop
    pointers, mask = _address(printer, step, coarse, layout, access, (drop, vector))
    given = f", mask={mask}, other=0" if mask else ""
    printer.add(f"{name} = gl.load({pointers}{given})")


def unpack_words(
    printer: FilePrinter, step: TileLoad, layout: LinearLayout, name: str
) -> None:
    """Append lines that make a tile of what ``load_words`` has loaded."""
    access = access_of(printer.graph, step)
    moved = _in_order(layout, access)
    count = word_elements(printer, step, layout)
    width, result = access.element_bits, step.result
    parts = []
    for number in range(count):
        part = f"({name} >> {width * number}).to(gl.int{width})"
        parts.append(f"{part}.to({TYPES[result.dtype]}, bitcast=True)")
    while len(parts) > 1:  # the highest bit of the number is the first new dim
        half = len(parts) // 2
        parts = [f"gl.join({parts[i]}, {parts[i + half]})" for i in range(half)]
    size = 1 << moved.in_bits[0]
    printer.add(f"{result.name} = gl.reshape({parts[0]}, [{printer.threads}, {size}])")
    printer.settled(result.name, moved.in_bits[0])
    source = renaming(moved, AffineLayout(layout))
    assert source is not None, "the same elements in each thread"
    printer.rename(result.name, source)


def store_lines(printer: FilePrinter, step: TileStore, layout: LinearLayout) -> None:
    """Append a store; of threads that hold copies one stores."""
    access = access_of(printer.graph, step)
    moved = _in_order(layout, access)
    source = renaming(layout, AffineLayout(moved))
    assert source is not None, "the same elements in each thread"
    value = printer.fresh("stored")
    printer.add(f"{value} = {printer.read(step, 0)}")
    printer.rename(value, source)
    pointers, mask = _address(printer, step, moved, layout, access)
    count = moved.in_bits[0]
    pivots = Echelon(moved.columns).pivots
    silent = sum(
        1 << bit - count
        for bit in range(count, len(moved.columns))
        if bit not in pivots
    )
    if silent:
        name = printer.fresh("speaks")
        printer.add(
            f"{name} = gl.expand_dims(gl.arange(0, {printer.threads}, "
            f"gl.SliceLayout(1, {printer.file(count)})), 1) & {silent} == 0",
            f"{name} = {name} & (gl.full([{printer.threads}, {1 << count}], 1, "
            f"gl.int1, {printer.file(count)}))",
        )
        mask = f"{mask} & {name}" if mask else name
    given = f", mask={mask}" if mask else ""
    printer.add(f"gl.store({pointers}, {value}{given})")


def _in_order(layout: LinearLayout, access: Access) -> LinearLayout:
    """Return a layout without copies whose lowest registers are a vector."""
    small = compact(layout)
    count = small.in_bits[0]
    vector = access.vector(small)
    order = [*vector, *(bit for bit in range(count) if bit not in vector)]
    columns = [small.columns[bit] for bit in order]
    shape = [1 << bits for bits in small.out_bits]
    return with_columns(small, shape, [*columns, *small.columns[count:]])


def _address(
    printer: FilePrinter,
    step: TileLoad | TileStore,
    moved: LinearLayout,
    layout: LinearLayout,
    access: Access,
    words: tuple[int, int] | None = None,
) -> tuple[str, str]:
    """Append lines that make pointers and the mask; return their names.

    ``words`` is None for pointers to elements; for pointers to the words that they are
    in, log2 of elements of a word, and words of a vector.
    """
    buffer = printer.graph.buffers[step.buffer]
    address = position(buffer, step.index)
    inside: dict[Expression | None, int] = {
        f: c for f, c in terms(address).items() if f and _varies(f)
    }
    scalar = {f: c for f, c in terms(address).items() if f not in inside}
    roots = [from_terms(inside)]
    if step.condition is not None:
        roots.append(step.condition)
    file = printer.file(moved.in_bits[0])
    if step.operands[1:] or (isinstance(step, TileLoad) and step.operands):
        # operands that an index reads have the tile's own layout
        texts = _with_operands(printer, step, moved, layout, roots)
    else:
        texts = printer.scalars(None, moved, roots)
    shape = [printer.threads, 1 << moved.in_bits[0]]
    offset = printer.fresh("offset")
    printer.add(f"{offset} = gl.zeros({shape}, gl.int32, {file}) + {texts[0]}")
    base = printer.fresh("base")
    scalars = printer.scalars(None, moved, [from_terms(scalar)], wide=True)
    printer.add(f"{base} = {scalars[0]}")
    pointer = printer.fresh("pointer")
    if words is None:
        printer.add(f"{pointer} = ({step.buffer} + {base}) + {offset}")
        drop, vector = 0, 1 << len(access.vector(moved))
    else:
        drop, vector = words
        printer.add(
            f"{pointer} = ({step.buffer} + {base}).to(gl.pointer_type(gl.int32))",
            f"{pointer} = {pointer} + ({offset} >> {drop})",
        )
    if vector > 1 or drop:
        # on the pointer: other operations may fold, and the hint be lost with them
        size = (vector << drop) * access.element_bits // 8
        printer.add(
            f"{pointer} = gl.max_contiguous(gl.multiple_of({pointer}, [1, {size}]), "
            f"[1, {vector}])"
        )
    mask = ""
    if step.condition is not None:
        mask = printer.fresh("mask")
        whole = leaves("digit", step.condition) or leaves("local", step.condition)
        full = "" if whole else f"gl.full({shape}, 1, gl.int1, {file}) & "
        printer.add(f"{mask} = {full}{texts[1]}")
        if vector > 1:
            printer.add(f"{mask} = gl.max_constancy({mask}, [1, {vector}])")
    return pointer, mask


def _with_operands(
    printer: FilePrinter,
    step: TileLoad | TileStore,
    moved: LinearLayout,
    layout: LinearLayout,
    roots: list[Expression],
) -> list[str]:
    """Print roots whose operands are renamed to the order of the access."""
    source = renaming(layout, AffineLayout(moved))
    assert source is not None, "the same elements in each thread"
    known = dict(printer.moved)
    for number, tile in enumerate(step.operands):
        if isinstance(step, TileStore) and number == 0:
            continue
        name = printer.fresh(f"{tile.name}_a")
        printer.add(f"{name} = {printer.read(step, number)}")
        printer.rename(name, source)
        printer.renamed[tile.name] = name
    texts = printer.scalars(step, moved, roots)
    printer.renamed.clear()
    printer.moved = known
    return texts


def _varies(factor: Expression) -> bool:
    return bool(leaves("digit", factor) or leaves("local", factor))
