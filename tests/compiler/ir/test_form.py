"""Kernels that do the same have one form."""

from dataclasses import replace

from compiler.ir.expression import make
from compiler.ir.form import form_of
from compiler.ir.index import digit, index
from compiler.ir.kernel import Kernel, Prefix, Reduction, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import apply, load

X, R = digit("x0"), digit("r0")
TYPE = "float32"


def array(name: str, *shape: int) -> Buffer:
    extents = tuple(map(index, shape))
    strides = (index(shape[-1]), index(1))[-len(shape) :]
    return Buffer(name, TYPE, extents, "cpu", strides, origin=f"line of {name}")


def softmax(x: str, y: str, total: str, name: str, op: str = "exp") -> Kernel:
    value = load(x, (X, R), TYPE)
    exp = apply(op, value)
    local = make("local", (), TYPE, total)
    return Kernel(
        name,
        (Axis(X, index(4)),),
        (Axis(R, index(8)),),
        (
            Reduction((total,), "sum", (exp,), (TYPE,)),
            Store(y, (X, R), apply("truediv", exp, local), True),
        ),
        {x: array(x, 4, 8), y: array(y, 4, 8)},
        (f"line of {name}",),
    )


def test_names_do_not_matter() -> None:
    first = form_of(softmax("a", "b", "s", "softmax_1"))
    second = form_of(softmax("c", "d", "t", "softmax_2"))
    assert first.key == second.key and hash(first.key) == hash(second.key)
    assert (first.arrays, second.arrays) == (("a", "b"), ("c", "d"))


def test_swapped_names_are_no_trap() -> None:
    assert (
        form_of(softmax("a", "b", "s", "k")).key
        == form_of(softmax("b", "a", "s", "k")).key
    )
    there = Kernel(
        "k",
        (Axis(X, index(4)),),
        (),
        (Store("b", (X,), apply("neg", load("a", (X,), TYPE)), False),),
        {"a": array("a", 4), "b": array("b", 4)},
    )
    back = replace(
        there, stages=(Store("a", (X,), apply("neg", load("b", (X,), TYPE)), False),)
    )
    assert form_of(there).key != form_of(back).key


def seeing(kernel: Kernel, buffer: Buffer) -> Kernel:
    return replace(kernel, buffers={**kernel.buffers, buffer.name: buffer})


def test_what_is_done_matters() -> None:
    kernel = softmax("a", "b", "s", "k")
    wide = array("a", 4, 8)
    others = [
        softmax("a", "b", "s", "k", "tanh"),
        replace(kernel, outer=(Axis(X, index(5)),)),
        replace(kernel, tile=(R,)),
        replace(kernel, stages=kernel.stages[:1]),
        replace(
            kernel, buffers={**kernel.buffers, "a": replace(wide, device="cuda:0")}
        ),
        replace(
            kernel,
            buffers={
                **kernel.buffers,
                "a": replace(wide, strides=(index(1), index(4))),
            },
        ),
    ]
    keys = {form_of(other).key for other in others}
    assert len(keys) == len(others) and form_of(kernel).key not in keys


def test_scans_and_conditions_count() -> None:
    value, truth = load("a", (X, R), TYPE), load("m", (X, R), "bool")
    local = make("local", (), TYPE, "p")
    kernel = replace(
        softmax("a", "b", "s", "k"),
        stages=(
            Prefix(("p",), "sum", value, (TYPE,)),
            Store("b", (X, R), local, True, "set", truth),
        ),
        buffers={"a": array("a", 4, 8), "m": array("m", 4, 8), "b": array("b", 4, 8)},
    )
    plain = replace(kernel, stages=(kernel.stages[0], Store("b", (X, R), local, True)))
    product = replace(
        kernel, stages=(Prefix(("p",), "product", value, (TYPE,)), kernel.stages[1])
    )
    assert len({form_of(k).key for k in (kernel, plain, product)}) == 3
