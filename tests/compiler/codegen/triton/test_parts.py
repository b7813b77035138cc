"""Programs that each change one of several arrays of one shape."""

from collections.abc import Callable, Sequence

import pytest
import torch

from compiler.codegen.triton.parts import LARGE, alike, components, parts_of
from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.printer import print_kernel
from compiler.ir.evaluate import run_kernel
from compiler.ir.expression import Expression
from compiler.ir.index import digit, index, symbol
from compiler.ir.kernel import Kernel, Stage, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import apply, constant, load
from compiler.runtime.triton_kernel import TritonKernel

X = digit("i")
SIZE = LARGE + 133


def number(value: float) -> Expression:
    return constant(value, "float32")


def changes(
    count: int, *, decay: Callable[[int], float] = lambda n: 0.5
) -> list[Stage]:
    """Return the stages of steps with a momentum, the stores of one type together."""
    rate = load("rate", (index(0),), "float32")
    weights: list[Stage] = []
    momenta: list[Stage] = []
    for n in range(count):
        w, m, g, t = (f"{kind}{n}" for kind in "wmgt")
        old = apply("mul", load(m, (X,), "float32"), number(decay(n)))
        new = apply("add", old, load(g, (X,), "float32"))
        step = apply("truediv", rate, load(t, (index(0),), "float32"))
        moved = apply("sub", load(w, (X,), "float32"), apply("mul", step, new))
        weights.append(Store(w, (X,), moved, False))
        momenta.append(Store(m, (X,), new, False))
    return weights + momenta


def arrays(count: int, size: int) -> dict[str, torch.Tensor]:
    torch.manual_seed(count)
    tensors = {f"{kind}{n}": torch.randn(size) for n in range(count) for kind in "wmg"}
    tensors |= {f"t{n}": torch.rand(1) + 1 for n in range(count)}
    return tensors | {"rate": torch.rand(1)}


def kernel_of(
    stages: list[Stage],
    tensors: dict[str, torch.Tensor],
    extent: Expression,
    device: str = "cpu",
) -> Kernel:
    shape = (extent,)
    buffers = {
        name: Buffer(
            name,
            "float32",
            (index(1),) if tensor.numel() == 1 else shape,
            device,
            (index(1),),
        )
        for name, tensor in tensors.items()
    }
    return Kernel("steps", (Axis(X, extent),), (), tuple(stages), buffers)


def ran(kernel: Kernel, tensors: dict[str, torch.Tensor], sizes: dict[str, int]) -> str:
    """Run in the interpreter and by the evaluator; both must agree to the bit."""
    expected = {name: tensor.clone() for name, tensor in tensors.items()}
    run_kernel(kernel, expected, sizes)
    printed = print_kernel(kernel)
    built = TritonKernel(printed, interpret=True)
    built(
        *(tensors[name] for name in built.parameters),
        *(sizes[str(s.data)] for s in built.symbols),
    )
    for name, tensor in expected.items():
        assert torch.equal(tensor, tensors[name]), (name, printed.source)
    return printed.source


@pytest.mark.parametrize("count", [2, 3, 20])
def test_each_program_changes_one_array(count: int) -> None:
    tensors = arrays(count, SIZE)
    kernel = kernel_of(changes(count), tensors, index(SIZE))
    assert len(plan(kernel).parts) == count
    source = ran(kernel, tensors, {})
    assert source.count("tl.store(") == 2
    kinds = [
        "load" if "tl.load(" in line else "store" if "tl.store(" in line else "value"
        for line in source.split("tl.load(", 1)[1].splitlines()[1:]
    ]
    order = ["load"] * 4 + ["value"] * (len(kinds) - 6) + ["store"] * 2
    assert kinds == order  # first all is asked for


@pytest.mark.parametrize("size", [1, SIZE])
def test_sizes_that_are_known_only_at_run_time(size: int) -> None:
    tensors = arrays(3, size)
    if size == 1:
        tensors = {name: tensor.reshape(1) for name, tensor in tensors.items()}
    extent = symbol("s0")
    kernel = kernel_of(changes(3), arrays(3, SIZE), extent)
    assert len(plan(kernel).parts) == 3
    assert "s0" in str(print_kernel(kernel).grid)
    ran(kernel, tensors, {"s0": size})


@pytest.mark.parametrize("kinds", [2, 3])
def test_what_differs_is_printed_apart(kinds: int) -> None:
    tensors = arrays(5, SIZE)
    stages = changes(5, decay=lambda n: (n % kinds) / 4)
    kernel = kernel_of(stages, tensors, index(SIZE))
    assert ran(kernel, tensors, {}).count("tl.store(") == 2 * kinds


@pytest.mark.parametrize("turned", [False, True])
def test_rows_with_gaps_and_gradients_that_are_turned(turned: bool) -> None:
    rows, columns = 150, 128
    tensors = {name: torch.randn(rows, 130)[:, :columns] for name in ("a", "b")}
    for name in ("g", "h"):
        tensors[name] = torch.randn(rows, columns)
        if turned:
            tensors[name] = torch.randn(columns, rows).t()
    y = digit("j")
    buffers = {
        name: Buffer(
            name,
            "float32",
            (index(rows), index(columns)),
            "cpu",
            tuple(map(index, tensor.stride())),
        )
        for name, tensor in tensors.items()
    }
    stages = tuple(
        Store(
            name,
            (X, y),
            apply("mul", load(name, (X, y), "float32"), load(g, (X, y), "float32")),
            False,
        )
        for name, g in (("a", "g"), ("b", "h"))
    )
    axes = (Axis(X, index(rows)), Axis(y, index(columns)))
    kernel = Kernel("rows", axes, (), stages, buffers)
    chosen = plan(kernel)
    assert len(chosen.parts) == 2
    assert len(chosen.tile) == 1 + turned
    expected = {"a": tensors["a"] * tensors["g"], "b": tensors["b"] * tensors["h"]}
    built = TritonKernel(print_kernel(kernel), interpret=True)
    built(*(tensors[name] for name in built.parameters))
    for name, tensor in expected.items():
        assert torch.equal(tensors[name], tensor)


def test_only_large_changes_in_place_of_strangers_have_parts() -> None:
    def parts(stages: Sequence[Stage], size: int = SIZE) -> int:
        tensors = {name: torch.empty(size) for name in "abcd"}
        return len(parts_of(kernel_of(list(stages), tensors, index(size))))

    def change(name: str, *others: str) -> Store:
        value = load(name, (X,), "float32")
        for other in others:
            value = apply("add", value, load(other, (X,), "float32"))
        return Store(name, (X,), value, False)

    both: list[Stage] = [change("a"), change("b")]
    assert parts(both) == 2
    assert parts(both, LARGE) == 0
    assert parts(both[:1]) == 0
    made = Store("c", (X,), load("d", (X,), "float32"), False)
    assert parts([*both, made]) == 0  # not in place
    assert parts([change("a", "c"), change("b", "c")]) == 0  # they share an array
    assert parts([change("a", "c"), change("b", "d")]) == 2
    assert parts([change("a", "b"), change("b")]) == 0
    late = [change("a"), change("b", "a"), change("c")]
    assert parts(late) == 0  # the second reads what the first wrote
    scattered = Store("b", (X,), load("b", (X,), "float32"), False, mode="add")
    assert parts([change("a"), scattered]) == 0


def test_sets_that_share_something_are_one() -> None:
    assert components([]) == ()
    assert components([{1}, {2}, {3}, {1, 3}]) == ((0, 2, 3), (1,))


def test_parts_alike_differ_in_their_own_arrays_alone() -> None:
    stores = [s for s in changes(3) if isinstance(s, Store)]
    parts = [[stores[n], stores[n + 3]] for n in range(3)]
    (kind,) = alike(parts)
    assert [set(own) for _, own in kind] == [
        {f"{letter}{n}" for letter in "wmgt"} for n in range(3)
    ]
    other = [s for s in changes(3, decay=float) if isinstance(s, Store)]
    assert len(alike([[other[n], other[n + 3]] for n in range(3)])) == 3


@pytest.mark.parametrize("kinds", [1, 3])
def test_many_parts_compile_for_sm_90_with_wide_accesses(kinds: int) -> None:
    tensors = arrays(20, 1 << 16)
    stages = changes(20, decay=lambda n: (n % kinds) / 4)
    kernel = kernel_of(stages, tensors, index(1 << 16), "cuda:0")
    ptx = TritonKernel(print_kernel(kernel)).compile(True, arch=90).asm["ptx"]
    assert ptx.count("ld.global.v4") >= 3
    assert ptx.count("st.global.v4") >= 2
    assert "bar.sync" not in ptx
