"""Reductions and scans of a tile, and accumulators of a loop over tiles."""

from dataclasses import dataclass
from typing import Final

from compiler.errors import BuildError
from compiler.ir.expression import Expression, make, nodes
from compiler.ir.index import floordiv, mul, sub
from compiler.ir.kernel import Prefix, Reduction
from compiler.ir.operations import type_class

from .emitter import Emitter
from .flat import expressions
from .spelling import TYPES, atom, constant, neutral

_LARGEST: Final = {"int32": (1 << 31) - 1, "int64": (1 << 63) - 1}


@dataclass(frozen=True, slots=True)
class Loop:
    """Accumulators of a reduction inside a loop: names, and their first values."""

    names: tuple[str, ...]
    starts: tuple[str, ...]


def words(stage: Reduction | Prefix) -> tuple[str, ...]:
    """Return what the results of a stage are called: by what they are."""
    kind = stage.reducer if isinstance(stage, Reduction) else stage.kind
    known = {
        "welford": ("mean", "squares", "count"),
        "online_softmax": ("greatest", "total"),
        "argmax": ("greatest_at",),
        "argmin": ("smallest_at",),
    }.get(kind, (kind,))
    if isinstance(stage, Prefix):
        known = (f"{kind}_up_to", f"{kind}_place")
    return known[: len(stage.results)]


def _combiner(emitter: Emitter, kind: str, dtype: str) -> str:
    name = {
        "sum": "add_combine",
        "product": "multiply_combine",
        "xor": "xor_combine",
        "argmax": "first_greatest",
        "argmin": "first_smallest",
        "online_softmax": "softmax_combine",
    }.get(kind)
    if name is None:
        float_ = "float_" if type_class(dtype) == "float" else ""
        name = f"{float_}{kind}_combine"
    return emitter.function(name)


def full(emitter: Emitter, value: Expression, filler: str | None) -> str:
    """Print a value over the whole tile, with a filler outside the reduced axis."""
    reduced = emitter.plan.reduced
    assert reduced is not None
    text = emitter.value(value)
    dims = emitter.dims(value)
    if value.op == "constant":
        text = f"tl.full({emitter.shape()}, {text}, {TYPES[value.dtype]})"
    elif dims != emitter.all_dims:
        text = f"tl.broadcast_to({text}, {emitter.shape()})"
    if filler is not None and not reduced.exact:
        text = f"tl.where({reduced.name}_inside, {text}, {filler})"
    return text


def reduce_text(emitter: Emitter, value: str, kind: str, dtype: str) -> str:
    """Return the text that reduces along ``r``, which stays if there are other dims."""
    place = len(emitter.plan.tile) - 1
    keep = ", keep_dims=True" if place else ""
    return f"tl.reduce({value}, {place}, {_combiner(emitter, kind, dtype)}{keep})"


def outer_dims(emitter: Emitter) -> frozenset[str]:
    """Return the dims of a reduction's result."""
    return frozenset(axis.name for axis in emitter.plan.independent)


def reduce_tile(emitter: Emitter, stage: Reduction, values: list[str]) -> list[str]:
    """Return the texts of a reducer over tensors of the tile, combined as pairs."""
    kind, dtype = stage.reducer, stage.values[0].dtype
    if dtype == "bool":
        extreme = "maximum" if kind in ("any", "maximum") else "minimum"
        found = reduce_text(emitter, f"{values[0]}.to(tl.int32)", extreme, "int32")
        return [f"{found} != 0"]
    if len(values) == 1:
        return [reduce_text(emitter, values[0], kind, dtype)]
    packed = f"({', '.join(values)})"
    names = [emitter.name(f"{word}_part") for word in words(stage)]
    while len(names) < len(values):
        names.append(emitter.name("part"))
    text = reduce_text(emitter, packed, kind, dtype)
    emitter.line(f"{', '.join(names)} = {text}")
    return names


def persistent(emitter: Emitter, stage: Reduction) -> None:
    """Print a reduction of a tile that holds the whole reduced axis."""
    value, kind = stage.values[0], stage.reducer
    dtype = value.dtype
    reduced = emitter.plan.reduced
    assert reduced is not None
    if kind == "welford":
        _persistent_welford(emitter, stage)
        return
    if kind == "online_softmax":
        _persistent_softmax(emitter, stage)
        return
    whole = emitter.name(f"{words(stage)[0]}_values")
    emitter.line(f"{whole} = {full(emitter, value, neutral(kind, dtype))}")
    if kind in ("argmax", "argmin"):
        _persistent_position(emitter, stage, whole)
        return
    _bind(emitter, stage, reduce_tile(emitter, stage, [whole]))


def _persistent_position(emitter: Emitter, stage: Reduction, whole: str) -> None:
    """Print the extreme, then the first place that has it; NaN is an extreme."""
    extreme = "maximum" if stage.reducer == "argmax" else "minimum"
    dtype = stage.values[0].dtype
    if dtype == "bool":
        emitter.line(f"{whole} = {whole}.to(tl.int32)")
        dtype = "int32"
    best = emitter.name(f"{words(stage)[0]}_best")
    emitter.line(f"{best} = {reduce_text(emitter, whole, extreme, dtype)}")
    hit = f"{whole} == {best}"
    if type_class(dtype) == "float":
        hit = f"({hit}) | ({whole} != {whole})"
    reduced = emitter.plan.reduced
    assert reduced is not None
    width = "int64" if emitter.is_wide(reduced.digit) else "int32"
    places = f"tl.where({hit}, {_positions(emitter)}, {_LARGEST[width]})"
    found = reduce_text(emitter, places, "minimum", width)
    _bind(emitter, stage, [f"{found}.to(tl.int64)"])


def _positions(emitter: Emitter) -> str:
    """Print the positions along the reduced axis; the largest number outside."""
    reduced = emitter.plan.reduced
    assert reduced is not None
    width = "int64" if emitter.is_wide(reduced.digit) else "int32"
    text = f"tl.broadcast_to({reduced.name}, {emitter.shape()})"
    if not reduced.exact:
        text = f"tl.where({reduced.name}_inside, {text}, {_LARGEST[width]})"
    name = emitter.name("places")
    emitter.line(f"{name} = {text}")
    return name


def _bind(emitter: Emitter, stage: Reduction, texts: list[str]) -> None:
    """Print the results and make them known."""
    dims = outer_dims(emitter)
    for result, dtype, text, word in zip(
        stage.results, stage.dtypes, texts, words(stage), strict=True
    ):
        name = emitter.name(word)
        cast = ""
        if dtype != stage.values[0].dtype and stage.reducer in ("sum", "product"):
            text, cast = atom(text), f".to({TYPES[dtype]})"
        emitter.line(f"{name} = {text}{cast}")
        emitter.bind(result, dtype, name, dims)


def _count(emitter: Emitter, dtype: str) -> str:
    reduced = emitter.plan.reduced
    assert reduced is not None
    extent = emitter.value(reduced.extent)
    if reduced.extent.op == "constant":
        return f"tl.full((), {extent}, {TYPES[dtype]})"
    return f"{atom(extent)}.to({TYPES[dtype]})"


def _persistent_welford(emitter: Emitter, stage: Reduction) -> None:
    """Print the mean, then the deviations from it: two passes over registers."""
    value = stage.values[0]
    mean, squares, count = (emitter.name(word) for word in words(stage))
    whole = emitter.name(f"{mean}_values")
    emitter.line(f"{whole} = {full(emitter, value, '0.0')}")
    emitter.line(f"{count} = {_count(emitter, value.dtype)}")
    total = reduce_text(emitter, whole, "sum", value.dtype)
    emitter.line(f"{mean} = {total} / tl.maximum({count}, 1.0)")
    delta = emitter.name(f"{mean}_deviations")
    text = f"{whole} - {mean}"
    reduced = emitter.plan.reduced
    assert reduced is not None
    if not reduced.exact:
        text = f"tl.where({reduced.name}_inside, {text}, 0.0)"
    emitter.line(f"{delta} = {text}")
    total = reduce_text(emitter, f"{delta} * {delta}", "sum", value.dtype)
    emitter.line(f"{squares} = {total}")
    names = mean, squares, count
    for result, name, dtype in zip(stage.results, names, stage.dtypes, strict=True):
        dims = outer_dims(emitter) if name != count else frozenset[str]()
        emitter.bind(result, dtype, name, dims)


def _persistent_softmax(emitter: Emitter, stage: Reduction) -> None:
    value = stage.values[0]
    greatest, total = (emitter.name(word) for word in words(stage))
    whole = emitter.name(f"{greatest}_values")
    emitter.line(f"{whole} = {full(emitter, value, neutral('maximum', value.dtype))}")
    found = reduce_text(emitter, whole, "maximum", value.dtype)
    emitter.line(f"{greatest} = {found}")
    # where a store needs the same exponentials, they are computed once, its way
    local = make("local", (), stage.dtypes[0], stage.results[0])
    numerator = make("exp", (make("sub", (value, local), value.dtype),), value.dtype)
    fast = value.dtype == "float32" and (
        emitter.is_coarse(numerator) or not emitter.is_used(numerator)
    )
    function = emitter.function("exp_fast") if fast else "libdevice.exp"
    shifted = f"{function}({whole} - {greatest})"
    emitter.line(f"{total} = {reduce_text(emitter, shifted, 'sum', value.dtype)}")
    dims = outer_dims(emitter)
    for result, name, dtype in zip(
        stage.results, (greatest, total), stage.dtypes, strict=True
    ):
        emitter.bind(result, dtype, name, dims)
    _invert(emitter, stage, total)


def _invert(emitter: Emitter, stage: Reduction, total: str) -> None:
    """Print the inverse of a sum of exponentials, of which the greatest is 1."""
    divisor = make("local", (), stage.dtypes[1], stage.results[1])
    kernel = emitter.plan.kernel
    roots = [part for s in kernel.stages for part in expressions(s)]
    divides = any(n.op == "truediv" and n.args[1] is divisor for n in nodes(*roots))
    if divides and divisor.dtype == "float32":
        name = emitter.name(f"{total}_inverse")
        emitter.line(f"{name} = tl.div_rn(1.0, {total})")
        emitter.inverses[divisor] = name


def accumulators(emitter: Emitter, stage: Reduction) -> Loop:
    """Return the accumulators of a reduction and what they start with."""
    kind, dtype = stage.reducer, stage.values[0].dtype
    base = [emitter.name(f"{word}_lanes") for word in words(stage)]
    start = (
        _filled(emitter, neutral(kind, dtype), dtype)
        if kind not in ("welford",)
        else ""
    )
    if kind in ("argmax", "argmin"):
        reduced = emitter.plan.reduced
        assert reduced is not None
        width = "int64" if emitter.is_wide(reduced.digit) else "int32"
        best = emitter.name(f"{words(stage)[0]}_best")
        place = _filled(emitter, str(_LARGEST[width]), width)
        return Loop((best, base[0]), (start, place))
    if kind == "welford":
        zero = _filled(emitter, "0.0", dtype)
        return Loop(tuple(base), (zero, zero, f"tl.full((), 0, {TYPES[dtype]})"))
    if kind == "online_softmax":
        low = "-3.4028234663852886e+38" if dtype == "float32" else repr(-1.7e308)
        zero = _filled(emitter, "0.0", dtype)
        return Loop(tuple(base), (_filled(emitter, low, dtype), zero))
    if kind in ("any", "all"):
        start = _filled(emitter, "1" if kind == "all" else "0", "int32")
    return Loop(tuple(base), (start,))


def _filled(emitter: Emitter, text: str, dtype: str) -> str:
    if text.startswith("tl.full("):
        text = text.removeprefix("tl.full((), ").rsplit(",", 1)[0]
    return f"tl.full({emitter.shape()}, {text}, {TYPES[dtype]})"


def accumulate(emitter: Emitter, stage: Reduction, loop: Loop) -> None:
    """Print one step of a reduction inside a loop."""
    value, kind = stage.values[0], stage.reducer
    dtype = value.dtype
    reduced = emitter.plan.reduced
    assert reduced is not None
    inside = "" if reduced.exact else f"{reduced.name}_inside"
    first = loop.names[0]
    if kind == "online_softmax":
        filler = neutral("maximum", dtype)
        text = full(emitter, value, filler)
        step = emitter.function("softmax_step")
        emitter.line(
            f"{', '.join(loop.names)} = {step}({', '.join(loop.names)}, {text})"
        )
        return
    if kind == "welford":
        _welford_step(emitter, full(emitter, value, None), loop, inside)
        return
    text = full(emitter, value, neutral(kind, dtype))
    if kind in ("argmax", "argmin"):
        places = _positions(emitter)
        combiner = _combiner(emitter, kind, dtype)
        names = ", ".join(loop.names)
        emitter.line(f"{names} = {combiner}({names}, {text}, {places})")
        return
    if kind in ("any", "all"):
        sign = "|" if kind == "any" else "&"
        emitter.line(f"{first} = {first} {sign} {atom(text)}.to(tl.int32)")
        return
    simple = {"sum": "+", "product": "*", "xor": "^"}.get(kind)
    if simple is not None:
        emitter.line(f"{first} = {first} {simple} {atom(text)}")
        return
    if dtype == "bool":
        sign = "|" if kind == "maximum" else "&"
        emitter.line(f"{first} = {first} {sign} {atom(text)}")
        return
    emitter.line(f"{first} = {_combiner(emitter, kind, dtype)}({first}, {text})")


def _welford_step(emitter: Emitter, text: str, loop: Loop, inside: str) -> None:
    """Print a step of Welford's method; the count is the number of the step."""
    mean, squares, count = loop.names
    words = ("value", "delta", "mean")
    value, delta, moved = (emitter.name(f"{word}_next") for word in words)
    emitter.line(f"{value} = {text}")
    emitter.line(f"{count} += 1.0")
    emitter.line(f"{delta} = {value} - {mean}")
    emitter.line(f"{moved} = tl.fma({delta}, 1.0 / {count}, {mean})")
    grown = f"tl.fma({delta}, {value} - {moved}, {squares})"
    if inside:
        grown = f"tl.where({inside}, {grown}, {squares})"
        moved = f"tl.where({inside}, {moved}, {mean})"
    emitter.line(f"{squares} = {grown}")
    emitter.line(f"{mean} = {moved}")


def _finish_welford(emitter: Emitter, stage: Reduction, loop: Loop) -> None:
    """Print the moments of all lanes from those of each: sums, as for single values."""
    dtype = stage.values[0].dtype
    means, squares, steps = loop.names
    each = _welford_counts(emitter, steps, dtype)
    total, mean, moved = (emitter.name(word) for word in ("count", "mean", "apart"))
    emitter.line(f"{total} = {_count(emitter, dtype)}")
    weighted = reduce_text(emitter, f"{means} * {each}", "sum", dtype)
    emitter.line(f"{mean} = {weighted} / tl.maximum({total}, 1.0)")
    emitter.line(f"{moved} = {means} - {mean}")
    whole = f"tl.fma({moved} * {each}, {moved}, {squares})"
    _bind(emitter, stage, [mean, reduce_text(emitter, whole, "sum", dtype), total])


def _welford_counts(emitter: Emitter, count: str, dtype: str) -> str:
    """Print how many values each lane took: one less where the last tile ends early."""
    reduced = emitter.plan.reduced
    assert reduced is not None
    text = f"tl.full({emitter.shape()}, {count}, {TYPES[dtype]})"
    if not reduced.exact:
        start = mul(floordiv(sub(reduced.extent, 1), reduced.block), reduced.block)
        place = f"{atom(emitter.value(start))} + {emitter.lanes(reduced)}"
        outside = f"{place} >= {atom(emitter.value(reduced.extent))}"
        text = f"{count} - tl.where({outside}, 1.0, 0.0)"
    name = emitter.name(f"{count}_each")
    emitter.line(f"{name} = tl.broadcast_to({text}, {emitter.shape()})")
    return name


def finish(emitter: Emitter, stage: Reduction, loop: Loop) -> None:
    """Print the results of a reduction after its loop."""
    kind, dtype = stage.reducer, stage.values[0].dtype
    if kind in ("any", "all"):
        extreme = "maximum" if kind == "any" else "minimum"
        found = reduce_text(emitter, loop.names[0], extreme, "int32")
        _bind(emitter, stage, [f"{found} != 0"])
        return
    if kind == "welford":
        _finish_welford(emitter, stage, loop)
        return
    results = reduce_tile(emitter, stage, list(loop.names))
    if kind in ("argmax", "argmin"):
        results = [f"{results[1]}.to(tl.int64)"]
    if kind == "online_softmax":
        greatest, total = results
        none = f"{total} == 0"
        infinite = f"({total} == 0) | ({greatest} == float('inf'))"
        low = constant(float("-inf"), dtype)
        empty = f"{atom(_count(emitter, dtype))} == 0"
        wrong = f"tl.where({empty}, 0.0, float('nan'))"
        results = [
            f"tl.where({none}, {low}, {greatest})",
            f"tl.where({infinite}, {wrong}, {total}).to({TYPES[dtype]})",
        ]
    _bind(emitter, stage, results)
    if kind == "online_softmax":
        local = make("local", (), stage.dtypes[1], stage.results[1])
        _invert(emitter, stage, emitter.value(local))


def scan_tile(emitter: Emitter, stage: Prefix, carry: list[str] | None) -> None:
    """Print a scan of a tile; with ``carry``, of the next tile of a loop."""
    kind, dtype = stage.kind, stage.value.dtype
    filler = neutral("maximum" if kind == "logsumexp" else kind, dtype)
    text = full(emitter, stage.value, filler if carry else None)
    whole = emitter.name(f"{words(stage)[0]}_values")
    emitter.line(f"{whole} = {text}")
    values = [whole]
    if kind in ("argmax", "argmin"):
        values.append(_scan_places(emitter))
    scanner = _SCANS.get(kind) or _combiner(emitter, kind, dtype)
    combiner = emitter.function(scanner)
    axis = len(emitter.plan.tile) - 1
    names = [emitter.name(word) for word in words(stage)]
    packed = values[0] if len(values) == 1 else f"({', '.join(values)})"
    scanned = f"tl.associative_scan({packed}, {axis}, {combiner})"
    emitter.line(f"{', '.join(names)} = {scanned}")
    if carry:
        before = ", ".join(carry)
        ends = [emitter.name(f"{name}_end") for name in carry]
        keep = ", keep_dims=True" if axis else ""
        emitter.line(
            f"{', '.join(ends)} = tl.reduce({packed}, {axis}, {combiner}{keep})"
        )
        joined = ", ".join(names)
        # the interpreter loses the type of a scalar bool: no scalar meets a tensor
        wide = ", ".join(f"tl.broadcast_to({c}, {emitter.shape()})" for c in carry)
        emitter.line(f"{joined} = {combiner}({wide}, {joined})")
        emitter.line(f"{before} = {combiner}({before}, {', '.join(ends)})")
    for result, name, declared, own in zip(
        stage.results, names, stage.dtypes, [dtype, "int64"][: len(names)], strict=True
    ):
        if own == "int64" and dtype != own:
            emitter.line(f"{name}_wide = {name}.to(tl.int64)")
            name = f"{name}_wide"
        emitter.bind(result, declared, name, emitter.all_dims)


def _scan_places(emitter: Emitter) -> str:
    reduced = emitter.plan.reduced
    assert reduced is not None
    name = emitter.name("places")
    emitter.line(f"{name} = tl.broadcast_to({reduced.name}, {emitter.shape()})")
    return name


def carries(emitter: Emitter, stage: Prefix) -> tuple[list[str], list[str]]:
    """Return names and first values of what a scan carries from tile to tile."""
    kind, dtype = stage.kind, stage.value.dtype
    start = neutral("maximum" if kind == "logsumexp" else kind, dtype)
    shape = emitter.shape(outer_dims(emitter))
    if len(emitter.plan.tile) == 1:
        shape = "()"
    names = [emitter.name(f"{word}_carry") for word in words(stage)]
    if start.startswith("tl.full("):
        start = start.removeprefix("tl.full((), ").rsplit(",", 1)[0]
    starts = [f"tl.full({shape}, {start}, {TYPES[dtype]})"]
    if kind in ("argmax", "argmin"):
        reduced = emitter.plan.reduced
        assert reduced is not None
        width = "int64" if emitter.is_wide(reduced.digit) else "int32"
        starts.append(f"tl.full({shape}, 0, {TYPES[width]})")
    return names, starts


_SCANS: Final = {
    "argmax": "last_greatest",
    "argmin": "last_smallest",
    "logsumexp": "logsumexp_combine",
}


def check_stage(stage: Reduction | Prefix) -> None:
    """Refuse what no printer knows.

    Raises:
        BuildError: the reducer takes another number of values.
    """
    if isinstance(stage, Reduction) and len(stage.values) != 1:
        raise BuildError(
            f"{stage.reducer} takes one value, got {len(stage.values)}",
            command="triton",
            output="refused",
        )
