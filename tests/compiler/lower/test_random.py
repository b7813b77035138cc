from collections.abc import Callable
from typing import Any

import pytest
import torch

from compiler.ir.evaluate import run_program
from compiler.ir.node import Extern
from compiler.lower import lower
from compiler.options import Options


def draw(agree: Any, function: Callable[..., Any], *args: Any, seed: int = 1) -> Any:
    program = agree.program(function, *args)
    assert all("seeds" in n.reason for n in program.nodes if isinstance(n, Extern))
    torch.manual_seed(seed)
    return run_program(program, list(args))


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16]
)
def test_uniform_numbers(agree: Callable[..., Any], dtype: torch.dtype) -> None:
    x = torch.zeros(100, 200, dtype=dtype)
    (u,) = draw(agree, torch.rand_like, x)
    assert u.dtype == dtype
    assert u.min() >= 0 and u.max() < 1
    assert abs(u.double().mean() - 0.5) < 0.01
    assert abs(u.double().var() - 1 / 12) < 0.005
    assert u.equal(draw(agree, torch.rand_like, x)[0])
    assert not u.equal(draw(agree, torch.rand_like, x, seed=2)[0])


def test_an_element_depends_on_its_position_only(agree: Callable[..., Any]) -> None:
    (a,) = draw(agree, lambda x: torch.rand(20, 30) + x, torch.zeros(20, 30))
    (b,) = draw(agree, lambda x: (torch.rand(20, 30) + x).t(), torch.zeros(20, 30))
    assert a.equal(b.t())


def test_normal_numbers(agree: Callable[..., Any]) -> None:
    (z,) = draw(agree, torch.randn_like, torch.zeros(40000))
    assert z.isfinite().all()
    assert abs(z.mean()) < 0.03
    assert abs(z.var() - 1) < 0.04
    assert abs((z**4).mean() - 3) < 0.3


def test_integers_and_two_draws_differ(agree: Callable[..., Any]) -> None:
    def two(x: Any) -> Any:
        return torch.randint(-3, 4, (9000,)), torch.randint_like(x, 7)

    a, b = draw(agree, two, torch.zeros(9000, dtype=torch.int64))
    assert sorted(a.unique().tolist()) == list(range(-3, 4))
    assert sorted(b.unique().tolist()) == list(range(7))
    assert not (a + 3).equal(b)


def test_dropout_keeps_the_share_and_scales(agree: Callable[..., Any]) -> None:
    x = torch.ones(20000)
    out, mask = draw(agree, lambda x: torch.native_dropout(x, 0.25, True), x)
    assert abs(mask.float().mean() - 0.75) < 0.02
    assert out.equal(torch.where(mask, 1 / 0.75, 0.0))
    out, mask = draw(agree, lambda x: torch.native_dropout(x, 0.25, False), x)
    assert out.equal(x) and mask.all()
    out, mask = draw(agree, lambda x: torch.native_dropout(x, 1.0, True), x)
    assert not out.any() and not mask.any()


def test_bernoulli(agree: Callable[..., Any]) -> None:
    odds = torch.linspace(0, 1, 30000)
    a, b = draw(agree, lambda p: (torch.bernoulli(p), torch.bernoulli(p, 0.2)), odds)
    assert abs(a.mean() - 0.5) < 0.02
    assert not a[:2].any() and a[-1] == 1
    assert abs(b.mean() - 0.2) < 0.02


def test_eager_modes_numbers_on_demand(agree: Any) -> None:
    import torch.fx.experimental.proxy_tensor as proxy

    x = torch.zeros(5)
    gm = proxy.make_fx(lambda x: torch.rand(5) + x, tracing_mode="fake")(x)
    program = lower(gm, options=Options(eager_parity=True))
    torch.manual_seed(3)
    (found,) = run_program(program, [x])
    torch.manual_seed(3)
    assert isinstance(found, torch.Tensor)
    assert found.equal(torch.rand(5))
