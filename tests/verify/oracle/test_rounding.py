"""Bounds from perturbed runs: wide enough for rounding, tight enough for faults."""

from collections.abc import Callable

import torch

from verify.oracle.mismatch import compare
from verify.oracle.rounding import expected

Function = Callable[..., tuple[torch.Tensor, ...]]


def inputs() -> list[torch.Tensor]:
    return [torch.linspace(-2, 2, 64)]


def test_other_orders_of_a_sum_are_within_the_bound() -> None:
    wanted = expected(lambda x: (x.exp().sum(),), inputs)
    other = inputs()[0].double().exp().sum().float()
    assert compare(wanted, [other, *inputs()]) is None


def test_a_wrong_element_is_outside_the_bound() -> None:
    wanted = expected(lambda x: (x.sin() * 3,), inputs)
    right = inputs()[0].sin() * 3
    assert compare(wanted, [right, *inputs()]) is None
    wrong = right.clone()
    wrong[5] *= 1 + 1e-4
    found = compare(wanted, [wrong, *inputs()])
    assert found is not None and found.kind == "value" and "(5,)" in found.detail


def test_what_rounds_nothing_must_be_equal() -> None:
    wanted = expected(lambda x: (x.flip(0),), inputs)
    assert wanted.bounds[0] is None
    almost = inputs()[0].flip(0)
    almost[0] = torch.nextafter(almost[0], torch.tensor(9.0))
    assert compare(wanted, [almost, *inputs()]) is not None


def test_below_the_least_normal_number_the_unit_stays() -> None:
    tiny = torch.finfo(torch.float32).tiny

    def build() -> list[torch.Tensor]:
        return [torch.tensor([tiny / 4, -tiny / 4, 0.0, 1.0])]

    wanted = expected(lambda x: (x.erf(),), build)
    right = build()[0].erf()
    off = torch.nextafter(right, torch.zeros(4))
    off = torch.where(right.abs() < tiny, off, right)
    assert right[0] != off[0]
    assert compare(wanted, [off, *build()]) is None
    for wrong in (1, 2):
        changed = right.clone()
        changed[wrong] = tiny * 2
        assert compare(wanted, [changed, *build()]) is not None


def test_an_erf_of_a_half_type_may_keep_small_arguments() -> None:
    def build() -> list[torch.Tensor]:
        return [torch.tensor([2.0**-40, -1.0, 0.0], dtype=torch.bfloat16)]

    wanted = expected(lambda x: (x.erf(),), build)
    better = build()[0].double().erf().bfloat16()
    assert compare(wanted, [better, *build()]) is None
    assert compare(wanted, [better * 1.5, *build()]) is not None


def test_a_zero_keeps_its_sign() -> None:
    def build() -> list[torch.Tensor]:
        return [torch.tensor([-0.0, 0.0, 2.0])]

    wanted = expected(lambda x: (1 / x.erf(),), build)
    assert wanted.loose[0] is None
    assert compare(wanted, [1 / build()[0].erf(), *build()]) is None
    assert compare(wanted, [1 / build()[0].erf().abs(), *build()]) is not None


def test_a_comparison_that_rounding_turns_is_left_open() -> None:
    def turning(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x.sin() ** 2 + x.cos() ** 2 > 1,)

    wanted = expected(turning, inputs)
    assert wanted.loose[0] is not None and bool(wanted.loose[0].any())


def test_cancellation_inside_an_operator_is_seen() -> None:
    """gelu(-4) = -2 (1 + erf(-2.83)): the sum loses three digits."""
    wanted = expected(
        lambda x: (torch.nn.functional.gelu(x),), lambda: [torch.tensor([-4.0])]
    )
    bound = wanted.bounds[0]
    assert bound is not None and 1e-7 < float(bound) < 1e-5
    exact = torch.nn.functional.gelu(torch.tensor([-4.0]).double()).float()
    assert compare(wanted, [exact, torch.tensor([-4.0])]) is None


def test_a_result_at_the_edge_of_a_step_is_left_open() -> None:
    """Half types round to 1 what a compiler that keeps more digits has below 1."""
    wanted = expected(
        lambda x: ((x * 1.0001).trunc(),), lambda: [torch.ones(3, dtype=torch.float16)]
    )
    assert wanted.loose[0] is not None or wanted.bounds[0] is not None
    got = [torch.zeros(3, dtype=torch.float16), torch.ones(3, dtype=torch.float16)]
    assert compare(wanted, got) is None


def test_an_error_of_eager_mode_is_kept() -> None:
    wanted = expected(lambda x: (x.reshape(7),), inputs)
    assert isinstance(wanted.error, RuntimeError)


def test_the_sign_of_a_computed_nan_is_left_open() -> None:
    """Nothing says which sign lgamma(-inf) has; that of a given NaN is kept."""
    values = torch.tensor([float("nan"), -3.5])

    def signs(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (torch.signbit(torch.sqrt(x)), torch.signbit(x))

    wanted = expected(signs, lambda: [values.clone()])
    computed, given = wanted.loose[:2]
    assert computed is not None and bool(computed.all())
    assert given is None


def test_either_order_of_a_product_and_a_quotient_is_within_the_bound() -> None:
    def subnormal() -> list[torch.Tensor]:
        return [torch.full((3,), 2.9387e-39)]

    wanted = expected(lambda x: (torch.addcdiv(x, x, x, value=0.001),), subnormal)
    x = subnormal()[0]
    other = x + 0.001 * (x / x)
    assert not torch.equal(other, wanted.values[0])
    assert compare(wanted, [other, x]) is None
    assert compare(wanted, [other * (1 + 1e-2), x]) is not None


def test_zeros_of_a_gradient_have_the_sign_of_either_formula() -> None:
    def program(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        weight = torch.arange(-1.0, 1.5, 0.5, dtype=torch.float64)
        return (torch.nn.functional.layer_norm(x, (5,), weight).sign(),)

    def build() -> list[torch.Tensor]:
        x = torch.tensor([1.0, -4, 0, 2, 2], dtype=torch.float64)
        return [x.requires_grad_()]

    wanted = expected(program, build, gradients=True)
    gradient = wanted.values[-1]
    assert bool((gradient == 0).all())
    found = [*wanted.values[:-1], -gradient]
    assert compare(wanted, found) is None
    found[-1] = gradient + 1e-300
    assert compare(wanted, found) is not None
    plain = expected(lambda x: (x * 0,), build)
    assert compare(plain, [-plain.values[0], plain.values[1]]) is not None


def test_a_mean_that_overflows_on_the_way_is_left_open() -> None:
    largest = torch.finfo(torch.float64).max

    def program(x: torch.Tensor) -> tuple[torch.Tensor]:
        return (torch.nn.functional.layer_norm(x, (4,)),)

    def build() -> list[torch.Tensor]:
        rows = [[1.0, -largest / 2, 0.0, largest], [1.0, 2.0, 3.0, 4.0]]
        return [torch.tensor(rows, dtype=torch.float64)]

    wanted = expected(program, build)
    assert wanted.values[0][0].isnan().all() and wanted.values[0][1].isfinite().all()
    loose = wanted.loose[0]
    assert loose is not None and loose[0].all() and not loose[1].any()


def test_a_sum_that_overflows_where_the_mean_does_not_is_left_open() -> None:
    """The variance overflows in each formula: 0 where the mean is finite, else NaN."""
    huge = torch.finfo(torch.float32).max
    row = [huge, 0.75, 2.0, 1.0, huge]

    def program(x: torch.Tensor) -> tuple[torch.Tensor]:
        return (torch.nn.functional.layer_norm(x, (5,)),)

    def build() -> list[torch.Tensor]:
        return [torch.tensor([row, [1.0, 2.0, 3.0, 4.0, 5.0]])]

    (exact,) = program(build()[0].double())
    assert bool(exact.isfinite().all())
    wanted = expected(program, build)
    right = wanted.values[0].clone()
    assert bool(right[0].isnan().all())
    right[0] = 0.0
    assert compare(wanted, [right, *build()]) is None
    right[1, 0] *= 1.001
    assert compare(wanted, [right, *build()]) is not None


def test_a_gradient_that_overflows_in_one_formula_only_is_left_open() -> None:
    huge = torch.tensor([[1.0, 0.5, 1.0, 2.0], [1.0, 2.0, 3.0, 5.0]]).double()

    def gradient(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            out = torch.nn.functional.layer_norm(x, (4,), torch.ones(4).double())
            weights = torch.arange(8.0).double().reshape(2, 4)
            return torch.autograd.grad(out, x, weights)

    huge[0, 0] = torch.finfo(torch.float64).max
    wanted = expected(gradient, lambda: [huge.clone()])
    assert bool(wanted.values[0][0].isnan().all())
    free = wanted.loose[0]
    assert free is not None and free.tolist() == [[True] * 4, [False] * 4]
    right = wanted.values[0].clone()
    right[0] = 0.0
    assert compare(wanted, [right, huge]) is None
    right[1, 0] *= 1 + 1e-6
    assert compare(wanted, [right, huge]) is not None


def test_statistics_of_a_batch_need_not_be_rounded_to_a_half_type() -> None:
    def normal() -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(3)
        return [torch.randn(4, 2, 17, generator=generator).half()]

    weight, bias = torch.tensor([-1.0, -0.5]).half(), torch.tensor([-0.5, 0.25]).half()

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        mean, var = torch.zeros(2).half(), torch.ones(2).half()
        norm = torch.nn.functional.batch_norm
        return norm(x, mean, var, weight, bias, True), mean, var

    wanted = expected(function, normal)
    x = normal()[0]
    mean, var = torch.zeros(2).double(), torch.ones(2).double()
    exact = torch.nn.functional.batch_norm(
        x.double(), mean, var, weight.double(), bias.double(), True
    ).half()
    assert not torch.equal(exact, wanted.values[0])
    assert compare(wanted, [exact, mean.half(), var.half(), x]) is None
    wrong = exact.clone()
    wrong[1] *= 1.1
    assert compare(wanted, [wrong, mean.half(), var.half(), x]) is not None


def test_cancellation_inside_an_operator_that_writes_is_seen() -> None:
    """x - 1.5 x x cancels at x = 2/3, in place as elsewhere."""

    def near() -> list[torch.Tensor]:
        return [torch.tensor([2 / 3 + 1e-4, 0.25])]

    def in_place(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x.addcmul_(x, x, value=-1.5),)

    (wide,) = near()
    exact = (wide.double() - 1.5 * wide.double() ** 2).float()
    for wanted in (
        expected(in_place, near),
        expected(lambda x: (torch.addcmul(x, x, x, value=-1.5),), near),
    ):
        last = exact if wanted.values[1].equal(wanted.values[0]) else wide
        assert compare(wanted, [exact, last]) is None
        wrong = exact * torch.tensor([1.0, 1 + 1e-4])
        assert compare(wanted, [wrong, last]) is not None


def test_a_sixth_may_be_one_of_float64() -> None:
    def slopes(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.clone().requires_grad_()
        with torch.enable_grad():
            return torch.autograd.grad(torch.nn.functional.hardsigmoid(y).sum(), y)

    def given() -> list[torch.Tensor]:
        return [torch.tensor([2.0, 4.0], dtype=torch.float64)]

    wanted = expected(slopes, given)
    exact = torch.tensor([1 / 6, 0.0], dtype=torch.float64)
    assert compare(wanted, [exact, *given()]) is None
    assert compare(wanted, [exact * (1 + 1e-6), *given()]) is not None


def test_the_bits_of_a_computed_nan_are_left_open() -> None:
    def given() -> list[torch.Tensor]:
        return [torch.tensor([1.0, float("inf"), -float("inf"), float("nan"), 2.0])]

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x.cumsum(0).view(torch.int32),)

    wanted = expected(function, given)
    (right,) = function(*given())
    for bits in (0x7FC00000, -0x400000):
        other = right.clone()
        other[2:] = bits
        assert compare(wanted, [other, *given()]) is None
    wrong = right.clone()
    wrong[1] += 1
    assert compare(wanted, [wrong, *given()]) is not None


def test_bits_of_a_nan_in_an_integer_s_memory_are_left_open() -> None:
    def given() -> list[torch.Tensor]:
        return [torch.tensor([1, -65537, 5])]  # the second is a NaN as a float

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x.view(torch.float64)[1:2].add_(1.0)
        return (x,)

    wanted = expected(function, given)
    x = given()[0]
    function(x)
    other = x.clone()
    other[1] = 0x7FF8 << 48
    assert compare(wanted, [other, other]) is None
    other[0] += 1
    assert compare(wanted, [other, other]) is not None


def test_a_truth_that_the_rounding_of_a_mean_decides_is_left_open() -> None:
    def given() -> list[torch.Tensor]:
        return [torch.tensor(1.541015625, dtype=torch.float16).expand(1025)]

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.nn.functional.layer_norm(x, (1025,))
        return (y.any(0), x.any(0))

    wanted = expected(function, given)
    for noise in (True, False):
        right = [torch.tensor(noise), torch.tensor(True), *given()]
        assert compare(wanted, right) is None
    wrong = [torch.tensor(True), torch.tensor(False), *given()]
    assert compare(wanted, wrong) is not None


def test_a_gradient_that_vectors_lose_is_within_the_bound() -> None:
    def given() -> list[torch.Tensor]:
        return [torch.full((17,), -11.0), torch.linspace(-2, 2, 17)]

    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ones = torch.ones(17)
        return tuple(torch.ops.aten.gelu_backward(ones, one) for one in (x, y))

    wanted = expected(function, given)
    first, second = function(*given())
    kept = torch.ops.aten.gelu_backward(torch.ones(17).double(), given()[0].double())
    for right in (first, kept.float()):
        assert compare(wanted, [right, second, *given()]) is None
    assert compare(wanted, [first, second * 1.0001, *given()]) is not None
    assert compare(wanted, [first - 1e-5, second, *given()]) is not None


def test_a_gradient_that_cancels_inside_is_within_the_bound() -> None:
    def given() -> list[torch.Tensor]:
        return [torch.full((5,), -4.0)]

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ones = torch.ones(5, dtype=x.dtype)
        return (torch.ops.aten.gelu_backward(ones, x, approximate="tanh"),)

    wanted = expected(function, given)
    (exact,) = function(given()[0].double())
    assert compare(wanted, [exact.float(), *given()]) is None
    assert compare(wanted, [exact.float() * 1.1, *given()]) is not None


def test_the_order_of_a_sum_decides_between_nan_and_infinity() -> None:
    most = torch.finfo(torch.float32).max
    inf = float("inf")

    def given() -> list[torch.Tensor]:
        x = torch.zeros(33, 3)
        x[4, 0] = x[5, 0] = most
        x[20, 0] = -inf
        x[:, 2] = 1.0
        return [x]

    for function in (
        lambda x: (x.sum(0),),
        lambda x: (torch.select_scatter(x, x.sum(0), 0, 0)[0],),
        lambda x: (x.mean(0),),
    ):
        wanted = expected(function, given)
        (right,) = function(*given())
        for value in (float("nan"), -inf):
            other = right.clone()
            other[0] = value
            assert compare(wanted, [other, *given()]) is None
        wrong = right.clone()
        wrong[2] *= 1.001
        found = compare(wanted, [wrong, *given()])
        assert found is not None and "(2,)" in found.detail


def test_a_sum_along_the_dim_of_a_scalar_is_not_open() -> None:
    def given() -> list[torch.Tensor]:
        return [torch.tensor(1.5)]

    wanted = expected(lambda x: (x.sum(0), x.mean(-1)), given)
    assert not wanted.is_open
    assert compare(wanted, [torch.tensor(2.5), *given(), *given()]) is not None


def test_an_element_that_no_run_moves_may_be_rounded() -> None:
    """Moves of an argument and of the result may cancel in all runs."""

    def build() -> list[torch.Tensor]:
        return [torch.full((4096,), -0.5)]

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.tan().exp()
        return (torch.where(torch.arange(4096) < 2, 3.0, y),)

    wanted = expected(function, build)
    (right,) = function(*build())
    up = torch.nextafter(right, torch.tensor(9.0))
    up[:2] = right[:2]
    assert compare(wanted, [up, *build()]) is None
    wrong = right.clone()
    wrong[7] *= 1 + 1e-5
    assert compare(wanted, [wrong, *build()]) is not None
    constant = right.clone()
    constant[1] = torch.nextafter(constant[1], torch.tensor(9.0))
    assert compare(wanted, [constant, *build()]) is not None


def test_what_is_written_to_a_given_tensor_is_rounded_too() -> None:
    def build() -> list[torch.Tensor]:
        return [torch.tensor([0.1, float("nan")], dtype=torch.bfloat16)]

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        torch.mul(x, 300.0, out=x)
        x.view(torch.uint8).bitwise_and_(254)
        return (x,)

    wanted = expected(function, build)
    for bits in (0x7EC0, 0xFEFE):  # of a NaN, but for the lowest bits of the bytes
        x = build()[0]
        function(x)
        x.view(torch.int16)[1] = bits - (bits >> 15 << 16)
        assert compare(wanted, [x, x]) is None
    x[0] = 31.0
    assert compare(wanted, [x, x]) is not None
    product = expected(lambda x: (torch.mul(x, 0.3, out=x.clone()),), build)
    assert product.bounds[0] is not None and float(product.bounds[0][0]) > 0


def test_the_bits_of_a_nan_that_is_an_extreme_are_left_open() -> None:
    def build() -> list[torch.Tensor]:
        return [torch.tensor([[float("nan"), 2.0], [1.0, 3.0]])]

    functions: list[Callable[[torch.Tensor], torch.Tensor]] = [
        lambda x: x.amax(0),
        lambda x: x.max(0).values,
    ]
    for function in functions:
        wanted = expected(lambda x, f=function: (f(x).view(torch.uint8),), build)
        right = function(*build())
        for bits in (0x7FC00000, -1):  # scalars and vectors of eager mode
            right.view(torch.int32)[0] = bits
            assert compare(wanted, [right.view(torch.uint8), *build()]) is None
        right[1] = 2.0
        assert compare(wanted, [right.view(torch.uint8), *build()]) is not None


def test_the_sign_of_a_nan_that_is_rounded_is_left_open() -> None:
    def build() -> list[torch.Tensor]:
        return [torch.tensor([float("nan"), -1.5], dtype=torch.bfloat16)]

    for function in (torch.round, torch.floor, torch.relu):
        wanted = expected(lambda x, f=function: (f(x).signbit(),), build)
        (right,) = (function(*build()).signbit(),)
        for sign in (True, False):
            other = torch.stack([torch.tensor(sign), right[1]])
            assert compare(wanted, [other, *build()]) is None
        assert compare(wanted, [~right, *build()]) is not None
