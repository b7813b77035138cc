"""The formats of weights: width, what a code means, how scales are stored."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from algebra.errors import OutOfRangeError

if TYPE_CHECKING:
    import torch

E2M1_VALUES: Final = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Values of the codes 0 to 7 of four-bit floats; 8 to 15 are their negatives."""

SCALE_BITS: Final = {"float": 16, "e8m0": 8, "e4m3": 8}
"""Width of a stored scale [bits]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFormat:
    """How weights are stored.

    Attributes:
        name: ``"int4"``, ``"int8"``, ``"fp8e4m3"``, ``"fp8e5m2"``, ``"mxfp4"`` or
            ``"nvfp4"``.
        bits: Width of a code [bits].
        block: Length of a block of scales along k that the format prescribes; 0 where
            the caller chooses [elements].
        scale: ``"float"`` (the activations' type), ``"e8m0"`` or ``"e4m3"``.
        zero: Code of the value 0 where there are no zero points.
    """

    name: str
    bits: int
    block: int = 0
    scale: str = "float"
    zero: int = 0

    @property
    def scale_bits(self) -> int:
        """Width of a stored scale [bits]."""
        return SCALE_BITS[self.scale]

    def values(self, codes: "torch.Tensor") -> "torch.Tensor":
        """Return what codes mean, without scale and with ``zero`` as the zero point.

        Args:
            codes: One code a byte, uint8, any shape.

        Returns:
            float32, exact, of the same shape.
        """
        import torch

        if self.name == "int4":
            return codes.float() - self.zero
        if self.name == "int8":
            return codes.view(torch.int8).float()
        if self.name == "fp8e4m3":
            return codes.view(torch.float8_e4m3fn).float()
        if self.name == "fp8e5m2":
            return codes.view(torch.float8_e5m2).float()
        table = torch.tensor(E2M1_VALUES, device=codes.device)
        table = torch.cat([table, -table])
        return table[codes.int()]

    def scale_values(self, scales: "torch.Tensor") -> "torch.Tensor":
        """Return stored scales as float32.

        Args:
            scales: 16-bit floats, or uint8 codes of e8m0 (2 ** (code - 127)) or e4m3.
        """
        import torch

        if self.scale == "float":
            return scales.float()
        if self.scale == "e4m3":
            return scales.view(torch.float8_e4m3fn).float()
        return torch.ldexp(
            torch.ones_like(scales, dtype=torch.float32), scales.int() - 127
        )


FORMATS: Final = {
    format.name: format
    for format in (
        WeightFormat(name="int4", bits=4, zero=8),
        WeightFormat(name="int8", bits=8),
        WeightFormat(name="fp8e4m3", bits=8),
        WeightFormat(name="fp8e5m2", bits=8),
        WeightFormat(name="mxfp4", bits=4, block=32, scale="e8m0"),
        WeightFormat(name="nvfp4", bits=4, block=16, scale="e4m3"),
    )
}


def weight_format(name: str) -> WeightFormat:
    """Return a format by its name.

    Raises:
        OutOfRangeError: There is no such format.
    """
    if name not in FORMATS:
        raise OutOfRangeError(
            f"format must be one of {list(FORMATS)}, got format={name!r}"
        )
    return FORMATS[name]
