"""Models whose weights are constants of the compiled graph."""

from typing import Any

import pytest
import torch

from compiler import torch_api
from compiler.errors import FallbackWarning


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Conv2d(3, 4, 3)
        self.norm = torch.nn.BatchNorm2d(4)
        self.norm.running_mean = torch.randn(4)
        self.weight = torch.nn.Parameter(torch.randn(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm(self.first(x))).mean((2, 3))
        return y @ (self.weight / 2).exp().t()


X = torch.linspace(-1, 1, 2 * 3 * 6 * 6).view(2, 3, 6, 6)


def compiled(model: torch.nn.Module, **options: Any) -> Any:
    torch_api.reset()
    return torch.compile(
        model, backend="tilewright", options={"freeze": True, **options}
    )


def test_weights_become_constants(tmp_path: Any) -> None:
    model = Scaled().eval()
    with torch.no_grad():
        run = compiled(model, trace=str(tmp_path))
        for x in (X, X * 2):
            torch.testing.assert_close(run(x), model(x))
    (text,) = [path.read_text() for path in tmp_path.glob("*/graph.py")]
    assert "aten.mm" in text and "aten.convolution" in text
    for gone in ("batch_norm", "exp", "div", "permute"):
        assert f"aten.{gone}" not in text and f"aten._native_{gone}" not in text


def test_strides_stay_eager_modes() -> None:
    model = Scaled().eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    head = torch.nn.Sequential(model.first, model.norm)
    x = X.to(memory_format=torch.channels_last)
    with torch.inference_mode():
        ours, theirs = compiled(head)(x), head(x)
    torch.testing.assert_close(ours, theirs)
    assert ours.stride() == theirs.stride()


@pytest.mark.parametrize("how", ["in place", "assigned", "loaded"])
def test_a_changed_weight_is_seen(how: str) -> None:
    model = Scaled().eval()
    with torch.no_grad():
        run = compiled(model)
        torch.testing.assert_close(run(X), model(X))
        if how == "in place":
            model.norm.running_var.mul_(3)  # type: ignore[union-attr]
        elif how == "assigned":
            model.weight = torch.nn.Parameter(torch.ones(4, 4))
        else:
            model.load_state_dict({k: v * 2 for k, v in model.state_dict().items()})
        with pytest.warns(FallbackWarning, match="weights changed after they were"):
            changed = run(X)
        torch.testing.assert_close(changed, model(X))
        torch.testing.assert_close(run(X), model(X))  # told once
        again = compiled(model)
        torch.testing.assert_close(again(X), model(X))


def test_gradients_are_refused_with_the_way_out() -> None:
    model = Scaled().eval()
    with pytest.raises(Exception, match=r"OptionError.*freeze=True.*torch\.no_grad"):
        compiled(model)(X)
    frozen = Scaled().eval().requires_grad_(False)
    torch.testing.assert_close(compiled(frozen)(X), frozen(X))


def test_statistics_that_are_written_stay_arguments() -> None:
    model = torch.nn.BatchNorm1d(3).train().requires_grad_(False)
    twin = torch.nn.BatchNorm1d(3).train()
    x = torch.randn(5, 3)
    with torch.no_grad():
        torch.testing.assert_close(compiled(model)(x), twin(x))
    torch.testing.assert_close(model.running_mean, twin.running_mean)


def test_sizes_may_be_symbols() -> None:
    model = Scaled().eval()
    torch_api.reset()
    with torch.no_grad():
        run = torch.compile(
            model, backend="tilewright", dynamic=True, options={"freeze": True}
        )
        for count in (2, 3, 5):
            x = torch.randn(count, 3, 6, 6)
            torch.testing.assert_close(run(x), model(x))


def test_arguments_that_overlap_run_as_written() -> None:
    class Added(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([2.0, 3.0, 4.0]))

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            x.mul_(self.weight.exp())
            return x + y

    model = Added()
    with torch.no_grad():
        run = compiled(model)
        for start in (3, 0, 1):
            ours, theirs = torch.arange(6.0), torch.arange(6.0)
            torch.testing.assert_close(
                run(ours[:3], ours[start : start + 3]),
                model(theirs[:3], theirs[start : start + 3]),
            )
            torch.testing.assert_close(ours, theirs)
