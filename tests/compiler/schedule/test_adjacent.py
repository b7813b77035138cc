"""Which dims of arrays are adjacent, and how reductions of images are shared out."""

from dataclasses import replace

import pytest

from compiler.ir.expression import Expression
from compiler.ir.index import constant_value, contiguous_strides, digit, index
from compiler.ir.node import Axis, Buffer, Map, Program, Reduce
from compiler.ir.scalar import apply, load
from compiler.options import Options
from compiler.schedule.adjacent import Adjacent
from compiler.schedule.reductions import with_fit_reductions

N, C, H, W = PLACE = tuple(map(digit, ("n", "c", "h", "w")))
SHAPE = (64, 256, 56, 56)
AXES = {d: Axis(d, index(e)) for d, e in zip(PLACE, SHAPE, strict=True)}
TYPE = "float32"
LAST = tuple(map(index, (256 * 56 * 56, 1, 256 * 56, 256)))


def image(name: str, strides: tuple[Expression, ...] | None) -> Buffer:
    return Buffer(name, TYPE, tuple(map(index, SHAPE)), "cuda:0", strides)


def changed(name: str, *read: str) -> Map:
    values = [load(of, PLACE, TYPE) for of in read]
    value = values[0] if len(values) == 1 else apply("add", *values)
    return Map(image(name, None), tuple(AXES.values()), apply("neg", value))


def channel_sum(name: str, of: str) -> Reduce:
    buffer = Buffer(name, TYPE, (index(256),), "cuda:0", contiguous_strides((256,)))
    axes, reduced = (AXES[C],), (AXES[N], AXES[H], AXES[W])
    return Reduce((buffer,), axes, reduced, "sum", (load(of, PLACE, TYPE),))


@pytest.mark.parametrize(("strides", "across"), [(LAST, True), (None, False)])
def test_strides_say_what_is_adjacent(
    strides: tuple[Expression, ...] | None, across: bool
) -> None:
    x = image("x", strides or contiguous_strides(SHAPE))
    node = channel_sum("y", "x")
    found = Adjacent(Program((x,), (node,), ("y",)))
    assert found.digits(load("x", PLACE, TYPE)) == {C if across else W}
    assert found.is_column_wise(node) is across


def test_what_is_free_follows_most_of_what_it_is_made_of() -> None:
    images = image("x", LAST), image("u", LAST), image("v", contiguous_strides(SHAPE))
    maps = changed("a", "x"), changed("b", "a", "v"), changed("c", "b", "u")
    node = channel_sum("y", "c")
    found = Adjacent(Program(images, (*maps, node), ("y",)))
    assert found.digits(load("a", PLACE, TYPE)) == {C}
    assert found.is_column_wise(node)
    rows = replace(images[0], strides=contiguous_strides(SHAPE))
    found = Adjacent(Program((rows, *images[1:]), (*maps, node), ("y",)))
    assert found.digits(load("b", PLACE, TYPE)) == {W}


@pytest.mark.parametrize("channels", [64, 256, 512, 1024])
def test_statistics_of_images_with_channels_last_keep_a_gpu_busy(channels: int) -> None:
    """Neighbouring channels share a program, so there are few without chunks."""
    size = 32 * 56 * 56
    axes = Axis(C, index(channels)), Axis(N, index(size))
    x = Buffer(
        "x", TYPE, (index(size), index(channels)), "cuda:0", (index(channels), index(1))
    )
    total = Buffer("y", TYPE, (index(channels),), "cuda:0", (index(1),))
    node = Reduce((total,), axes[:1], axes[1:], "sum", (load("x", (N, C), TYPE),))
    fit = with_fit_reductions(Program((x,), (node,), ("y",)), Options(), [])
    first = fit.nodes[0]
    assert isinstance(first, Reduce) and len(fit.nodes) == 2
    results = [constant_value(axis.extent) or 0 for axis in first.axes]
    assert results[0] * results[1] // 64 >= 2 * 132
