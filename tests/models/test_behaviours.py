"""What users do with ``torch.compile(backend="tilewright")``, a small case each."""

import collections
import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from compiler import torch_api

Same = Callable[..., Any]
Point = collections.namedtuple("Point", "x y")


def test_the_entry_point_is_registered() -> None:
    assert "tilewright" in torch.compiler.list_backends()


def test_full_graph(same: Same) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ x) + x.sum(-1, keepdim=True)

    compiled = torch.compile(f, backend="tilewright", fullgraph=True)
    x = torch.randn(5, 5)
    torch.testing.assert_close(compiled(x), f(x))


def test_graph_breaks(same: Same) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x.sin() + 1
        torch._dynamo.graph_break()
        return y * y

    same(f, torch.randn(7), graphs=2)


class Inner(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.randn(6))
        self.shift = torch.nn.Buffer(torch.randn(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale + self.shift


class Outer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([Inner(), Inner()])
        self.by_name = torch.nn.ModuleDict({"last": torch.nn.Linear(6, 3)})

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        for layer in self.layers:
            x = layer(x).tanh()
        return {"x": x, "last": (self.by_name["last"](x), [x.mean()]), "no": None}


def test_nested_modules_and_outputs(same: Same) -> None:
    with torch.no_grad():
        same(Outer(), torch.randn(4, 6))


def test_named_tuples_and_dicts_as_arguments(same: Same) -> None:
    def f(p: Point, d: dict[str, torch.Tensor]) -> Point:
        return Point(p.x + d["a"], p.y * 2)

    same(f, Point(torch.randn(3), torch.randn(3)), {"a": torch.randn(3)})


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients(same: Same, mode: Callable[[], Any]) -> None:
    linear = torch.nn.Linear(4, 4)
    with mode():
        same(lambda x: functional.gelu(linear(x)), torch.randn(3, 4))


def test_channels_last(same: Same) -> None:
    x = torch.randn(2, 5, 4, 3).to(memory_format=torch.channels_last)
    same(lambda x: functional.relu(x * 2 + 1), x)
    conv = torch.nn.Conv2d(5, 8, 3, padding=1)
    conv.weight.data = conv.weight.data.to(memory_format=torch.channels_last)
    with torch.no_grad():
        same(lambda x: functional.silu(conv(x)) + 1, x)


DTYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
]


def test_mixed_types(same: Same) -> None:
    values = [torch.arange(6).to(dtype) for dtype in DTYPES]

    def f(*values: torch.Tensor) -> list[torch.Tensor]:
        return [a + b for a, b in itertools.pairwise(values)]

    same(f, *values, exact=True)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1,), (1, 1, 1), ()])
def test_sizes_0_and_1(same: Same, shape: tuple[int, ...]) -> None:
    def f(x: torch.Tensor) -> Any:
        return x * 2 + 1, x.sum(), x.unsqueeze(0).transpose(0, -1), x.flatten().exp()

    same(f, torch.randn(shape))


def test_reductions_of_nothing(same: Same) -> None:
    def f(x: torch.Tensor) -> Any:
        return x.sum(1), x.mean(1), x.prod(1), (x > 0).any(1), (x > 0).all(1)

    same(f, torch.randn(3, 0))


def test_strided_and_offset_inputs(same: Same) -> None:
    base = torch.randn(8, 10)

    def f(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
        return a + b.sum(), b * 2, c.T + 1

    same(f, base[1::2, 3:], base.T[2:5], torch.randn(4).expand(3, 4))


def test_outputs_that_alias(same: Same) -> None:
    def f(x: torch.Tensor) -> Any:
        y = x + 1
        return x, x[1:], y, y.view(-1), y.T

    compiled = same(f, torch.randn(3, 4))
    x = torch.randn(3, 4)
    first, second, third, fourth, _ = compiled(x)
    assert first is x and second.data_ptr() == x[1:].data_ptr()
    assert fourth.data_ptr() == third.data_ptr()


def test_parts_of_a_result_share_its_memory(same: Same) -> None:
    def f(x: torch.Tensor) -> Any:
        y = x + 1
        left, right = y.split(2, 1)
        return left, right, y.sum(0)

    compiled = same(f, torch.randn(3, 4), exact=True)
    left, right, _ = compiled(torch.zeros(3, 4))
    shared = left.as_strided((3, 4), (4, 1), 0)
    right.fill_(7.0)
    assert shared[:, 2:].eq(7.0).all() and shared[:, :2].eq(1.0).all()


def test_writes_into_inputs(same: Same) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(y)
        y[1:] = 3
        return x.sum()

    same(f, torch.randn(5), torch.randn(5))


def test_a_shift_in_place(same: Same) -> None:
    def f(x: torch.Tensor) -> None:
        x[:, 1:] = x[:, :-1].clone()

    same(f, torch.arange(4096.0).view(4, 1024), exact=True)


def test_a_clone_after_index_add_has_its_own_memory(same: Same) -> None:
    def f(x: torch.Tensor, i: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.index_add_(0, i, y)
        return x.clone()

    compiled = same(f, torch.zeros(4), torch.tensor([1, 1]), torch.ones(2))
    x = torch.zeros(4)
    out = compiled(x, torch.tensor([1, 1]), torch.ones(2))
    assert out.data_ptr() != x.data_ptr()


def test_inputs_that_overlap_later(same: Same) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * y

    compiled = same(f, torch.zeros(4), torch.ones(4))
    ours, theirs = torch.arange(6.0), torch.arange(6.0)
    torch.testing.assert_close(
        compiled(ours[:4], ours[1:5]), f(theirs[:4], theirs[1:5])
    )
    torch.testing.assert_close(ours, theirs)


def test_custom_operators(same: Same) -> None:
    @torch.library.custom_op("tilewright_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    @torch.library.custom_op("tilewright_test::fill", mutates_args=("x",))
    def fill(x: torch.Tensor, value: float) -> None:
        x.fill_(value)

    def f(x: torch.Tensor) -> Any:
        y = twice(x + 1)
        z = x.clone()
        fill(z, 3.0)
        return y - 1, z + y

    same(f, torch.randn(4))


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return torch.mul(grad, 3 * x * x)


def gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gives the gradients of a scalar function."""

    def run(*args: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.autograd.grad(f(*args), args)

    return run


def trained(same: Same, f: Callable[..., Any], *args: torch.Tensor) -> None:
    """Compare value and gradients of a function with eager mode's."""
    leaves = [arg.clone().requires_grad_() for arg in args]
    compiled = torch.compile(f, backend="tilewright")
    torch_api.reset()
    ours, theirs = compiled(*leaves), f(*leaves)
    torch.testing.assert_close(ours, theirs)
    for mine, wanted in zip(
        torch.autograd.grad(ours.sum(), leaves),
        torch.autograd.grad(theirs.sum(), leaves),
        strict=True,
    ):
        torch.testing.assert_close(mine, wanted)
        assert mine.stride() == wanted.stride()


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_autograd_functions(same: Same) -> None:
    apply: Callable[..., torch.Tensor] = Cube.apply
    trained(same, lambda x: apply(x.sin()), torch.randn(5))


def test_checkpointing(same: Same) -> None:
    from torch.utils.checkpoint import checkpoint

    def block(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x @ w).sin()

    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = checkpoint(block, x, w, use_reentrant=False)
        assert isinstance(y, torch.Tensor)
        return y * 2

    trained(same, f, torch.randn(3, 4), torch.randn(4, 4))


def test_training_a_layer_with_statistics(same: Same) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()
    )
    twin = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()
    )
    twin.load_state_dict(model.state_dict())
    torch_api.reset()
    compiled = torch.compile(model, backend="tilewright")
    x = torch.randn(2, 3, 6, 6)
    for _ in range(2):
        compiled(x).square().mean().backward()
        twin(x).square().mean().backward()
    for (name, mine), theirs in zip(
        model.named_parameters(), twin.parameters(), strict=True
    ):
        torch.testing.assert_close(mine.grad, theirs.grad, msg=name)
    for kept, wanted in zip(model.buffers(), twin.buffers(), strict=True):
        torch.testing.assert_close(kept, wanted)


def test_dynamic_sizes(same: Same) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return (x.softmax(-1) * x.shape[0]).sum(0)

    torch_api.reset()
    torch_api.forget_counts()
    compiled = torch.compile(f, backend="tilewright", dynamic=True)
    for rows, columns in ((3, 4), (5, 8), (2, 33)):
        x = torch.randn(rows, columns)
        torch.testing.assert_close(compiled(x), f(x))
    assert torch_api.captured_graphs() == 1


def test_cond(same: Same) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = torch.cond(
            x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x,)
        )
        return y * 2

    compiled = same(f, torch.ones(4), graphs=None)
    x = -torch.ones(4)
    torch.testing.assert_close(compiled(x), f(x))


def test_while_loop(same: Same) -> None:
    from torch._higher_order_ops import while_loop

    def f(x: torch.Tensor) -> Any:
        i = torch.zeros((), dtype=torch.int64)
        return while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, x * 2 + 1), (i, x.sin())
        )

    same(f, torch.randn(4), graphs=None)


def test_scan(same: Same) -> None:
    from torch._higher_order_ops.scan import scan

    def f(x: torch.Tensor) -> Any:
        return scan(lambda c, y: (c + y, c * y), torch.zeros(3), x, dim=0)

    torch_api.reset()
    x = torch.randn(5, 3)
    carry, out = torch.compile(f, backend="tilewright")(x)
    torch.testing.assert_close(carry, x.sum(0))
    torch.testing.assert_close(out[1], x[0] * x[1])


def test_flex_attention(same: Same) -> None:
    from torch.nn.attention.flex_attention import flex_attention

    def f(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        def bias(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
            return s + (i - j)

        out = flex_attention(q + 1, k, v, score_mod=bias)
        assert isinstance(out, torch.Tensor)
        return out * 2

    q, k, v = (torch.randn(1, 2, 16, 16) for _ in range(3))
    torch_api.reset()
    ours = torch.compile(f, backend="tilewright")(q, k, v)
    i = torch.arange(16)
    scores = (q + 1) @ k.mT / math.sqrt(16) + (i[:, None] - i[None, :])
    torch.testing.assert_close(ours, scores.softmax(-1) @ v * 2, atol=1e-4, rtol=1e-4)


def test_exported_programs(same: Same) -> None:
    model = Outer().eval()
    x = torch.randn(4, 6)
    program = torch.export.export(model, (x,))
    with torch.no_grad():
        same(program.module(), x)


def test_a_constant_of_the_function(same: Same) -> None:
    table = torch.tensor([3.0, 1.0, 2.0])
    same(lambda x: x * table + torch.tensor([1, 2, 3]), torch.randn(3))


def test_python_numbers_and_scalars(same: Same) -> None:
    def f(x: torch.Tensor, k: int, s: torch.Tensor) -> torch.Tensor:
        return x * k + s - 2.5

    same(f, torch.randn(3), 2, torch.tensor(3.0))


def test_what_is_out_of_range_raises_as_in_eager_mode() -> None:
    def f(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return x[i] * 2

    torch_api.reset()
    compiled = torch.compile(f, backend="tilewright")
    x = torch.randn(4)
    torch.testing.assert_close(compiled(x, torch.tensor([-1, 0])), x[[-1, 0]] * 2)
    for index in (4, -5):
        with pytest.raises(IndexError):
            compiled(x, torch.tensor([index, 0]))
    torch.testing.assert_close(compiled(x, torch.tensor([3, 0])), x[[3, 0]] * 2)


def test_errors_of_the_user_are_the_users() -> None:
    torch_api.reset()
    with pytest.raises(Exception, match=r"size|shape|dimension"):
        torch.compile(torch.add, backend="tilewright")(torch.ones(3), torch.ones(4))


def test_eager_modes_random_numbers(same: Same) -> None:
    def f(x: torch.Tensor) -> Any:
        return functional.dropout(x, 0.5) + torch.rand_like(x), torch.randn(3)

    torch_api.reset()
    x = torch.ones(50)
    compiled = torch.compile(f, backend="tilewright", options={"eager_parity": True})
    torch.manual_seed(3)
    ours = compiled(x)
    torch.manual_seed(3)
    theirs = f(x)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


def test_random_numbers_follow_the_seed(same: Same) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return functional.dropout(x, 0.5) * 2

    torch_api.reset()
    x = torch.ones(4000)
    compiled = torch.compile(f, backend="tilewright")
    torch.manual_seed(3)
    first, second = compiled(x), compiled(x)
    torch.manual_seed(3)
    assert torch.equal(compiled(x), first) and not torch.equal(first, second)
    assert set(first.tolist()) == {0.0, 4.0}
    assert abs((first > 0).float().mean().item() - 0.5) < 0.05


def test_types_that_only_pytorch_computes(same: Same) -> None:
    def f(x: torch.Tensor) -> Any:
        z = (x + 1).to(torch.complex64) * 2j
        return z.T[1:], z.abs() + x, (x * 3).to(torch.float8_e5m2).to(torch.float32)

    same(f, torch.randn(4, 3))


def test_an_optimizers_step(same: Same) -> None:
    torch_api.reset()
    ours = [torch.nn.Parameter(torch.randn(s)) for s in ((3, 4), (7,), (2, 3))]
    theirs = [torch.nn.Parameter(p.detach().clone()) for p in ours]
    mine, wanted = torch.optim.AdamW(ours), torch.optim.AdamW(theirs)
    step = torch.compile(mine.step, backend="tilewright")
    for _ in range(3):
        for p, q in zip(ours, theirs, strict=True):
            p.grad = torch.randn_like(p)
            q.grad = p.grad.clone()
        step()
        wanted.step()
    for p, q in zip(ours, theirs, strict=True):
        torch.testing.assert_close(p, q)


def test_two_compilations_for_forty_sizes(same: Same) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, (8,)).softmax(-1).mean(0)

    torch_api.reset()
    torch_api.forget_counts()
    compiled = torch.compile(f, backend="tilewright")
    for rows in range(2, 42):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(compiled(x), f(x))
    assert torch_api.captured_graphs() <= 2


def test_deterministic_results_of_a_row_whatever_the_batch(same: Same) -> None:
    def f(x: torch.Tensor) -> Any:
        return x.softmax(-1), functional.layer_norm(x, (5000,)), x.sum(-1), x.exp()

    torch_api.reset()
    options: dict[str, Any] = {"deterministic": True}
    compiled = torch.compile(f, backend="tilewright", options=options, dynamic=False)
    x = torch.randn(7, 5000)
    whole = compiled(x)
    for rows in (1, 3):
        part = compiled(x[:rows])
        for a, b in zip(part, whole, strict=True):
            assert torch.equal(a, b[:rows])
    for a, b in zip(compiled(x), whole, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("back", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("whole", [torch.int16, torch.int32, torch.int64])
def test_an_integer_has_no_negative_zero(whole: torch.dtype, back: torch.dtype) -> None:
    """C++ compilers take both casts for a truncation, which leaves one of -0.5."""

    def f(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x.to(whole)
        return y.to(back), torch.where(x > 9, 3, y).to(back) * 2

    others = (torch.bfloat16, torch.float64) if back == torch.float32 else ()
    for start in (torch.float32, *others):
        torch._dynamo.reset()
        x = torch.tensor([-0.5, -0.0, 0.0, 0.5, -1.5, -0.99] * 7, dtype=start)
        found = torch.compile(f, backend="tilewright")(x)
        for mine, wanted in zip(found, f(x), strict=True):
            assert mine.equal(wanted) and mine.signbit().equal(wanted.signbit())


@pytest.mark.parametrize("back", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("whole", [torch.uint8, torch.int16, torch.int32, torch.int64])
def test_a_float_of_an_integer_is_one_that_the_integer_has(
    whole: torch.dtype, back: torch.dtype
) -> None:
    """Whichever integer a processor makes of NaN, infinity or what has no room."""

    def f(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.to(whole)
        return y, y.to(back), y.to(back) / -1.5, torch.where(x > 9, y, 3).to(back)

    for start in (torch.float32, torch.float64):
        torch._dynamo.reset()
        large = [float("nan"), float("inf"), -float("inf"), 3e19, -3e19, 1e10, 40000.0]
        x = torch.tensor([*large, 2.5, -0.5] * 7, dtype=start)
        y, same, divided, chosen = torch.compile(f, backend="tilewright")(x)
        assert y.equal(x.to(whole))
        assert same.equal(y.to(back))
        assert divided.equal(y.to(back) / -1.5)
        assert chosen.equal(torch.where(x > 9, y, 3).to(back))


@pytest.mark.parametrize("whole", [torch.int8, torch.uint8, torch.int32, torch.int64])
def test_an_integer_of_nan_is_in_no_range_of_the_function_before(
    whole: torch.dtype,
) -> None:
    """A C++ compiler knows that ``acos`` is 0 to pi, and takes NaN as impossible."""

    def f(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = []
        for y in (x.acos(), x.sqrt(), x.abs().log(), x.sin(), x.exp(), x.abs()):
            z = y.to(whole)
            found += [z.clamp(-2, 2), z > -1, torch.where(z < 0, 1, 2), z.abs()]
        return tuple(found)

    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for shape in ((), (8,), (67,)):
            torch._dynamo.reset()
            x = torch.full(shape, float("nan"), dtype=dtype)
            if shape:
                x[1::3] = -4.0
                x[2::3] = 0.5
            for mine, due in zip(
                torch.compile(f, backend="tilewright")(x), f(x), strict=True
            ):
                assert mine.equal(due)
