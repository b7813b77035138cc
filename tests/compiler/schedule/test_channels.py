"""Convolutions on a GPU get channels last, and nobody else notices."""

from dataclasses import replace

import torch

from compiler.ir.expression import Expression
from compiler.ir.index import constant_value, contiguous_strides, digit, index
from compiler.ir.node import Axis, Buffer, Extern, Map, Node, Program, Reference
from compiler.ir.scalar import apply, cast, load
from compiler.schedule.channels import (
    channels_last,
    convolutions,
    with_channels_last,
)

IMAGE, WEIGHT = (2, 16, 8, 8), (16, 16, 3, 3)


def array(name: str, shape: tuple[int, ...], device: str = "cuda:0") -> Buffer:
    strides = contiguous_strides(shape)
    return Buffer(name, "bfloat16", tuple(map(index, shape)), device, strides)


def convolution(
    name: str, image: str, weight: str, groups: int = 1, device: str = "cuda:0"
) -> Extern:
    target = torch.ops.aten.convolution.default
    rest = (None, (1, 1), (1, 1), (1, 1), False, (0, 0), groups)
    args = (Reference(image), Reference(weight), *rest)
    return Extern((array(name, IMAGE, device),), target, args, {})


def relu(name: str, base: str) -> Map:
    axes = tuple(Axis(digit(f"i{n}"), index(e)) for n, e in enumerate(IMAGE))
    value: Expression = load(base, tuple(a.digit for a in axes), "bfloat16")
    negated = apply("abs", cast(value, "float32"))
    return Map(array(name, IMAGE), axes, cast(negated, "bfloat16"))


def program(
    *nodes: Node, outputs: tuple[str, ...], weight: tuple[int, ...] = WEIGHT
) -> Program:
    inputs = (array("x", IMAGE), array("w", weight), array("v", weight))
    return Program(inputs, nodes, outputs)


def last(buffer: Buffer) -> bool:
    return buffer.strides == channels_last(buffer)


def test_arrays_between_convolutions_turn() -> None:
    made = with_channels_last(
        program(
            convolution("c", "x", "w"),
            relu("r", "c"),
            convolution("d", "r", "v"),
            relu("z", "d"),
            outputs=("z",),
        ),
        [],
    )
    buffers = made.buffers()
    assert last(buffers["c"]) and last(buffers["r"]) and last(buffers["d"])
    assert not last(buffers["z"])
    copies = [
        n for n in made.nodes if isinstance(n, Map) and n.buffer.name.endswith("_nhwc")
    ]
    assert [n.buffer.name for n in copies] == ["x_nhwc", "w_nhwc", "v_nhwc"]


def test_a_result_that_leaves_is_copied_back() -> None:
    made = with_channels_last(program(convolution("c", "x", "w"), outputs=("c",)), [])
    copy = made.nodes[-1]
    assert isinstance(copy, Map) and copy.buffer.name == "c"
    assert copy.value.data == "c_nhwc" and not last(copy.buffer)


def test_other_calls_get_eager_s_strides() -> None:
    other = Extern(
        (array("e", IMAGE),), len, ([Reference("c")],), {"k": Reference("r")}
    )
    made = with_channels_last(
        program(
            convolution("c", "x", "w"),
            relu("r", "c"),
            convolution("d", "r", "v"),
            other,
            outputs=("e", "d"),
        ),
        [],
    )
    found = next(n for n in made.nodes if isinstance(n, Extern) and n.target is len)
    given = [found.args[0][0].name, found.kwargs["k"].name]
    buffers = made.buffers()
    assert given[0] == "c_nchw" and not last(buffers["c_nchw"])
    assert given[1] == "r" and not last(buffers["r"]) and last(buffers["r_nhwc"])


def test_where_it_does_not_pay() -> None:
    on_cpu = program(convolution("c", "x", "w", device="cpu"), outputs=("c",))
    assert with_channels_last(on_cpu, []) is on_cpu
    grouped = program(
        convolution("c", "x", "w", groups=4), outputs=("c",), weight=(16, 4, 3, 3)
    )
    assert convolutions(grouped)[0].grouped
    assert with_channels_last(grouped, []) is grouped
    depthwise = program(
        convolution("c", "x", "w", groups=16), outputs=("c",), weight=(16, 1, 3, 3)
    )
    assert not convolutions(depthwise)[0].grouped


def test_operations_are_counted() -> None:
    (found,) = convolutions(program(convolution("c", "x", "w"), outputs=("c",)))
    assert found.operations == 2 * 16 * 8 * 8 * 16 * 9
    assert constant_value(channels_last(found.results[0])[1]) == 1


def gradients(name: str, gradient: str, image: str, weight: str) -> Extern:
    target = torch.ops.aten.convolution_backward.default
    rest = ([0], (1, 1), (1, 1), (1, 1), False, (0, 0), 1, (True, True, False))
    args = (Reference(gradient), Reference(image), Reference(weight), *rest)
    outputs = array(f"{name}_0", IMAGE), array(f"{name}_1", WEIGHT), None
    return Extern(outputs, target, args, {})


def test_gradients_turn_too() -> None:
    made = with_channels_last(
        program(
            relu("r", "x"),
            gradients("g", "r", "x", "w"),
            relu("z", "g_0"),
            outputs=("z", "g_1"),
        ),
        [],
    )
    buffers = made.buffers()
    assert last(buffers["r"]) and last(buffers["g_0"]) and last(buffers["g_1_nhwc"])
    assert not last(buffers["g_1"]) and not last(buffers["z"])
    call = next(n for n in made.nodes if isinstance(n, Extern))
    assert [a.name for a in call.args[:3]] == ["r", "x_nhwc", "w_nhwc"]
    assert convolutions(made)[0].operations == 2 * 2 * 16 * 8 * 8 * 16 * 9


def test_what_is_kept_takes_any_strides() -> None:
    nodes = convolution("c", "x", "w"), relu("r", "c"), relu("s", "c")
    made = with_channels_last(
        replace(program(*nodes, outputs=("s", "c", "r")), free=frozenset("cr")), []
    )
    buffers = made.buffers()
    assert last(buffers["c"]) and last(buffers["r"]) and not last(buffers["s"])
    assert len(made.nodes) == len(nodes) + 2  # copies of x and w


def test_what_is_kept_and_is_no_image_stays_as_it_is() -> None:
    """As weights of attention beside the convolution that cuts an image in patches."""
    shape = 2, 4, 9, 9
    axes = tuple(Axis(digit(f"i{n}"), index(e)) for n, e in enumerate(shape))
    value = cast(load("m", tuple(a.digit for a in axes), "bfloat16"), "float32")
    weights = Map(array("s", shape), axes, cast(apply("abs", value), "bfloat16"))
    before = program(convolution("c", "x", "w"), weights, outputs=("c", "s"))
    inputs = (*before.inputs, array("m", shape))
    made = with_channels_last(
        replace(before, inputs=inputs, free=frozenset("cs")), []
    ).buffers()
    assert last(made["c"]) and not last(made["s"])
