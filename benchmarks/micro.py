"""The micro suite: twenty functions of inference, as plain torch code, with sizes.

On a GPU each item moves 256 MB or more; the first ten are 16384 x 8192 in bfloat16. On
a CPU an item has 1/64 of the elements (2048 x 1024 for the first ten), in float32.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as nn

Tensors = tuple[torch.Tensor, ...]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the inputs of all items are made from.

    Attributes:
        device: Where.
        dtype: Type of activations and weights.
        rows: Of a matrix.
        columns: Of a matrix.
        batch: Images, or sequences.
        length: Tokens of a sequence.
        side: Height and width of an image.
    """

    device: str
    dtype: torch.dtype
    rows: int
    columns: int
    batch: int
    length: int
    side: int


GPU = Sizes("cuda", torch.bfloat16, 16384, 8192, 128, 2048, 64)
CPU = Sizes("cpu", torch.float32, 2048, 1024, 2, 1024, 64)


@dataclass(frozen=True, slots=True)
class Item:
    """One function with its inputs.

    Attributes:
        name: Of the item.
        function: What is compiled.
        inputs: Sizes -> arguments.
    """

    name: str
    function: Callable[..., torch.Tensor | Tensors]
    inputs: Callable[[Sizes], Tensors]


def moved_bytes(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> int:
    """Return the bytes that any implementation moves: each input and output once."""
    return sum(t.numel() * t.element_size() for t in (*inputs, *outputs))


def _normal(sizes: Sizes, *shape: int) -> torch.Tensor:
    return torch.randn(shape, device=sizes.device, dtype=sizes.dtype)


def _matrix(sizes: Sizes) -> torch.Tensor:
    return _normal(sizes, sizes.rows, sizes.columns)


def _row(sizes: Sizes) -> torch.Tensor:
    return _normal(sizes, sizes.columns)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row."""
    return x.softmax(-1)


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy of rows."""
    return nn.cross_entropy(logits, labels)


def _labelled(sizes: Sizes) -> Tensors:
    labels = torch.randint(sizes.columns, (sizes.rows,), device=sizes.device)
    return _matrix(sizes), labels


def full_sum(x: torch.Tensor) -> torch.Tensor:
    """Sum of all elements."""
    return x.sum()


def bias_gelu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Exact GELU of x + bias."""
    return nn.gelu(x + bias)


def cumsum(x: torch.Tensor) -> torch.Tensor:
    """Running sum of each row."""
    return x.cumsum(-1)


def column_sum(x: torch.Tensor) -> torch.Tensor:
    """Sum of each column."""
    return x.sum(0)


def layer_norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Layer norm of each row."""
    return nn.layer_norm(x, x.shape[-1:], w, b)


def rms_norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """RMS norm of each row."""
    return nn.rms_norm(x, x.shape[-1:], w, 1e-6)


def swiglu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """SiLU of the gate, times up."""
    return nn.silu(gate) * up


def transposed_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """A matrix plus a transposed one."""
    return x + y.t()


def _turned(sizes: Sizes) -> Tensors:
    return _matrix(sizes), _normal(sizes, sizes.columns, sizes.rows)


def rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding, halves rotated."""
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin


def _rotary_inputs(sizes: Sizes) -> Tensors:
    heads = sizes.rows * sizes.columns // (sizes.length * 128)
    angle = torch.rand(sizes.length, 128, device=sizes.device) * math.tau
    cos, sin = angle.cos().to(sizes.dtype), angle.sin().to(sizes.dtype)
    return _normal(sizes, heads, sizes.length, 128), cos, sin


def add_rms_norm(x: torch.Tensor, residual: torch.Tensor, w: torch.Tensor) -> Tensors:
    """Residual addition, then RMS norm; both are results."""
    total = x + residual
    return nn.rms_norm(total, total.shape[-1:], w, 1e-6), total


def masked_softmax(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Softmax of scaled scores where the mask holds."""
    return (scores * 0.125).masked_fill(~mask, float("-inf")).softmax(-1)


def _masked_inputs(sizes: Sizes) -> Tensors:
    n = sizes.length
    heads = sizes.rows * sizes.columns // (n * n)
    mask = torch.ones(n, n, dtype=torch.bool, device=sizes.device).tril()
    return _normal(sizes, heads, n, n), mask


def group_norm_silu(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Group norm of 32 groups, then SiLU."""
    return nn.silu(nn.group_norm(x, 32, w, b))


def _image(sizes: Sizes) -> torch.Tensor:
    return _normal(sizes, sizes.batch, 256, sizes.side, sizes.side)


def _grouped(sizes: Sizes) -> Tensors:
    return _image(sizes), _normal(sizes, 256), _normal(sizes, 256)


def batch_norm_relu(
    x: torch.Tensor,
    mean: torch.Tensor,
    variance: torch.Tensor,
    w: torch.Tensor,
    b: torch.Tensor,
) -> torch.Tensor:
    """Batch norm of inference, channels last, then ReLU."""
    return nn.relu(nn.batch_norm(x, mean, variance, w, b))


def _normed(sizes: Sizes) -> Tensors:
    image = _image(sizes).contiguous(memory_format=torch.channels_last)
    channel = [_normal(sizes, 256) for _ in range(4)]
    return image, channel[0], channel[1].abs(), channel[2], channel[3]


def concat_slice(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Parts of two matrices side by side, scaled."""
    n = x.shape[1]
    return torch.cat((x[:, : n // 2], y[:, n // 4 :]), dim=1) * 0.5


def argmax(x: torch.Tensor) -> torch.Tensor:
    """Position of each row's maximum."""
    return x.argmax(-1)


def var_mean(x: torch.Tensor) -> Tensors:
    """Variance and mean of each row."""
    return torch.var_mean(x, -1)


def dequantise(
    q: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """Int8 to floating point, a scale and zero a row, a bias a column."""
    return (q.to(scale.dtype) - zero) * scale + bias


def _quantised(sizes: Sizes) -> Tensors:
    shape = (2 * sizes.rows, sizes.columns)
    q = torch.randint(-128, 128, shape, dtype=torch.int8, device=sizes.device)
    row = (2 * sizes.rows, 1)
    return q, _normal(sizes, *row), _normal(sizes, *row), _row(sizes)


def adam_step(
    p: torch.Tensor, grad: torch.Tensor, m: torch.Tensor, v: torch.Tensor
) -> Tensors:
    """One step of Adam without bias correction, in float32."""
    m = m * 0.9 + grad * 0.1
    v = v * 0.999 + grad * grad * 0.001
    return p - 1e-3 * m / (v.sqrt() + 1e-8), m, v


def _adam_inputs(sizes: Sizes) -> Tensors:
    shape = (sizes.rows // 4, sizes.columns)
    p, grad, m, v = (torch.randn(shape, device=sizes.device) for _ in range(4))
    return p, grad, m, v.abs()


ITEMS: tuple[Item, ...] = (
    Item("softmax", softmax, lambda s: (_matrix(s),)),
    Item("cross_entropy", cross_entropy, _labelled),
    Item("full_sum", full_sum, lambda s: (_matrix(s),)),
    Item("bias_gelu", bias_gelu, lambda s: (_matrix(s), _row(s))),
    Item("cumsum", cumsum, lambda s: (_matrix(s),)),
    Item("column_sum", column_sum, lambda s: (_matrix(s),)),
    Item("layer_norm", layer_norm, lambda s: (_matrix(s), _row(s), _row(s))),
    Item("rms_norm", rms_norm, lambda s: (_matrix(s), _row(s))),
    Item("swiglu", swiglu, lambda s: (_matrix(s), _matrix(s))),
    Item("transposed_add", transposed_add, _turned),
    Item("rotary", rotary, _rotary_inputs),
    Item("add_rms_norm", add_rms_norm, lambda s: (_matrix(s), _matrix(s), _row(s))),
    Item("masked_softmax", masked_softmax, _masked_inputs),
    Item("group_norm_silu", group_norm_silu, _grouped),
    Item("batch_norm_relu", batch_norm_relu, _normed),
    Item("concat_slice", concat_slice, lambda s: (_matrix(s), _matrix(s))),
    Item("argmax", argmax, lambda s: (_matrix(s),)),
    Item("var_mean", var_mean, lambda s: (_matrix(s),)),
    Item("dequantise", dequantise, _quantised),
    Item("adam_step", adam_step, _adam_inputs),
)
"""The suite, in the order of the report."""
