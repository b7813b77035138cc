"""Random operands of each type that a pair of ``compiler.mixed.pairs`` can have."""

from typing import NamedTuple

import torch

from compiler.mixed.formats import E2M1_VALUES
from compiler.mixed.pairs import operand_type
from compiler.permuting.nibbles import pack

_FLOATS = {
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp8e4m3": torch.float8_e4m3fn,
    "fp8e5m2": torch.float8_e5m2,
}


class RandomOperand(NamedTuple):
    """An operand as a kernel gets it, and what it means.

    Attributes:
        data: Contiguous; as ``pair_kernel_text`` says.
        scales: uint8 [rows, k / 32], or one byte that is not read.
        values: float64 [rows, k].
    """

    data: torch.Tensor
    scales: torch.Tensor
    values: torch.Tensor


def random_operand(
    name: str, rows: int, k: int, order: str, *, seed: int = 0, device: str = "cpu"
) -> RandomOperand:
    """Return a random operand.

    Args:
        name: Its type.
        rows: Rows m of the left operand, or columns n of the right one.
        k: Elements that are summed over, a multiple of 32 for mxfp4.
        order: ``"k"`` where k is contiguous, else ``"mn"``.
        seed: Of the generator.
        device: Where it is made.

    Example:
        >>> random_operand("int4", 16, 32, "k").data.shape
        torch.Size([16, 16])
    """
    kind = operand_type(name)
    generator = torch.Generator(device).manual_seed(seed)
    scales = torch.full((1, 1), 127, dtype=torch.uint8, device=device)

    def integers(low: int, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=generator, device=device)

    if kind.whole:
        data = integers(-(1 << kind.bits - 1), 1 << kind.bits - 1, rows, k)
        data = data.to(torch.int8)
        values = data.double()
    elif name == "mxfp4":
        data = integers(0, 16, rows, k).to(torch.uint8)
        table = torch.tensor(E2M1_VALUES, dtype=torch.float64, device=device)
        scales = integers(122, 130, rows, k // kind.scale_block).to(torch.uint8)
        factors = torch.exp2(scales.double() - 127)
        values = torch.cat([table, -table])[data.int()]
        values = values * factors.repeat_interleave(kind.scale_block, 1)
    else:
        data = torch.randn(rows, k, generator=generator, device=device)
        if name == "tf32":
            data = (data.view(torch.int32) & -8192).view(torch.float32)
        data = data.to(_FLOATS.get(name, torch.float32))
        values = data.double()
        if kind.bits == 8:
            data = data.view(torch.uint8)
    if order == "mn":
        data = data.T.contiguous()
    if kind.bits == 4:
        halves = (data.to(torch.int16) & 15).to(torch.uint8)
        data = pack(halves.reshape(-1)).view(data.shape[0], -1)
        data = data.view(torch.int8 if kind.whole else torch.uint8)
    return RandomOperand(data, scales, values)
