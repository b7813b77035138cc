"""Pointwise work that a permutation does on the way: scale, bias, cast."""

from dataclasses import dataclass

import torch

from algebra.bits import is_power_of_two
from compiler.errors import PointwiseError

ROUNDED = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int16: (-32768, 32767)}
"""Integer types that values are rounded and clamped to."""


@dataclass(frozen=True, slots=True, eq=False)
class Pointwise:
    """What is done to each element before it moves.

    Law: element i becomes ``x[i] * scale + bias[(i >> first_bit) % len(bias)]``,
    computed in float32, then cast to ``dtype``. To an integer type it is rounded to
    nearest even and clamped, as a quantiser does.

    Attributes:
        dtype: Type of the result.
        scale: Factor.
        bias: One value for each channel, a power of two of them [channels].
        first_bit: Lowest bit of the channel's number in the index: for an NCHW tensor
            log2(H * W).

    Raises:
        PointwiseError: The type is none of 1, 2 or 4 bytes, or the bias does not fit.

    Example:
        >>> halve = Pointwise(torch.float16, scale=0.5, bias=torch.tensor([0., 8.]))
        >>> halve.apply(torch.arange(4.)).tolist()
        [0.0, 8.5, 1.0, 9.5]
    """

    dtype: torch.dtype
    scale: float = 1.0
    bias: torch.Tensor | None = None
    first_bit: int = 0

    def __post_init__(self) -> None:
        floating = self.dtype.is_floating_point and self.dtype.itemsize <= 4
        if not floating and self.dtype not in ROUNDED:
            raise PointwiseError(
                "the result's dtype must be a floating type of at most 32 bits, int8, "
                f"uint8 or int16, got dtype={self.dtype}; cast afterwards"
            )
        bias = self.bias
        if bias is not None and (bias.dim() != 1 or not is_power_of_two(len(bias))):
            raise PointwiseError(
                "bias needs one axis with a power of two of channels, got "
                f"shape={tuple(bias.shape)}; pad it and the tensor's channels"
            )

    def check(self, tensor: torch.Tensor) -> None:
        """Check that each channel occurs equally often.

        Raises:
            PointwiseError: It does not, or the elements are no real numbers.
        """
        if tensor.is_complex():
            raise PointwiseError(
                f"pointwise work needs real numbers, got dtype={tensor.dtype}; permute "
                "torch.view_as_real of it"
            )
        channels = 1 if self.bias is None else len(self.bias)
        if self.bias is not None and tensor.numel() % (channels << self.first_bit):
            raise PointwiseError(
                f"channels={channels} from bit {self.first_bit} on need a multiple of "
                f"{channels << self.first_bit} elements, got numel={tensor.numel()}; "
                "check first_bit"
            )

    def apply(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return the elements as they will move, in the input's order and shape.

        Raises:
            PointwiseError: The channels do not fit the number of elements.
        """
        self.check(tensor)
        value = tensor.contiguous().view(-1).to(torch.float32) * self.scale
        if self.bias is not None:
            channels = len(self.bias)
            bias = self.bias.to(device=tensor.device, dtype=torch.float32)
            view = value.view(-1, channels, 1 << self.first_bit)
            value = (view + bias[:, None]).view(-1)
        if self.dtype in ROUNDED:
            value = value.round().clamp(*ROUNDED[self.dtype])
        return value.to(self.dtype).view(tensor.shape)
