"""Modules with parameters and statistics, each built for the tensor it is given.

A module is a parameter of the program, made anew for each run; its parameters are small
multiples of a half, so that exact data stays exact, and what the run changes in it (the
statistics of a batch norm) is compared like any other argument.
"""

from collections.abc import Callable

import torch
from hypothesis import strategies as st

from .draw import Draw

MODULES = {
    "linear_module": "{linear}({f1full})",
    "mlp_module": "{mlp}({f1full})",
    "layer_norm_module": "{layernorm}({f1full})",
    "prelu_module": "{prelu}({f})",
    "conv_module": "{conv}({image})",
    "conv1d_module": "{conv1d}({signal})",
    "batch_norm_module": "{batchnorm}({image})",
    "group_norm_module": "{groupnorm}({image})",
    "embedding_module": "{embedding}({i} % 4)",
    "residual_module": "{f1full} + {same}({it})",
    "gru_module": "{gru}({m})",
    "weight_read": "{linear}.weight.sum() + {f1full}.sum()",
}
"""Expressions that call a module."""


def _end(draw: Draw, first: torch.Tensor, text: str) -> str:
    training = draw(st.booleans())
    return f"filled(torch.nn.{text}, {first.dtype}, {training})"


def _linear(draw: Draw, first: torch.Tensor) -> str:
    bias = draw(st.booleans())
    out = draw(st.integers(1, 4))
    return _end(draw, first, f"Linear({first.shape[-1]}, {out}, bias={bias})")


def _mlp(draw: Draw, first: torch.Tensor) -> str:
    n, hidden = first.shape[-1], draw(st.integers(1, 5))
    act = draw(st.sampled_from(["ReLU()", "GELU()", "Tanh()", "SiLU()"]))
    return _end(
        draw,
        first,
        f"Sequential(torch.nn.Linear({n}, {hidden}), torch.nn.{act}, "
        f"torch.nn.Linear({hidden}, 2))",
    )


def _same(draw: Draw, first: torch.Tensor) -> str:
    return _end(draw, first, f"Linear({first.shape[-1]}, {first.shape[-1]})")


def _layer_norm(draw: Draw, first: torch.Tensor) -> str:
    return _end(draw, first, f"LayerNorm({first.shape[-1]})")


def _prelu(draw: Draw, first: torch.Tensor) -> str:
    return _end(draw, first, "PReLU()")


def _conv(draw: Draw, first: torch.Tensor) -> str:
    size, stride = draw(st.sampled_from([1, 3])), draw(st.integers(1, 2))
    return _end(
        draw,
        first,
        f"Conv2d({first.shape[1]}, 2, {size}, stride={stride}, padding={size // 2})",
    )


def _conv1d(draw: Draw, first: torch.Tensor) -> str:
    return _end(draw, first, f"Conv1d({first.shape[1]}, 2, 3, padding=1)")


def _batch_norm(draw: Draw, first: torch.Tensor) -> str:
    return _end(draw, first, f"BatchNorm2d({first.shape[1]})")


def _group_norm(draw: Draw, first: torch.Tensor) -> str:
    channels = first.shape[1]
    groups = draw(st.sampled_from([n for n in (1, 2, channels) if channels % n == 0]))
    return _end(draw, first, f"GroupNorm({groups}, {channels})")


def _embedding(draw: Draw, first: torch.Tensor) -> str:
    width = draw(st.integers(1, 4))
    padding = draw(st.sampled_from(["None", "1"]))
    module = f"torch.nn.Embedding(4, {width}, padding_idx={padding})"
    return f"filled({module}, torch.float32)"


def _gru(draw: Draw, first: torch.Tensor) -> str:
    return _end(draw, first, f"GRUCell({first.shape[-1]}, 2)")


MODULE_HOLES: dict[str, Callable[[Draw, torch.Tensor], str]] = {
    "linear": _linear,
    "mlp": _mlp,
    "same": _same,
    "layernorm": _layer_norm,
    "prelu": _prelu,
    "conv": _conv,
    "conv1d": _conv1d,
    "batchnorm": _batch_norm,
    "groupnorm": _group_norm,
    "embedding": _embedding,
    "gru": _gru,
}
"""Holes for a module that fits the first tensor: what builds it."""
