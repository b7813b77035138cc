"""Bit operations on a narrow word that yield the 16-bit operands of an instruction.

Floats with fewer exponent and mantissa bits are floats of the wider type with another
bias: their bits are put in place, and one multiplication by a power of two, exact for
subnormals too, corrects the bias. Integers of 8 bits are put into the mantissa of a
float whose unit in the last place is 1, and a subtraction, exact as well, leaves the
integer. (Both are well known; see e.g. the dequantisers of FasterTransformer and
Marlin.) Integers of 4 bits are taken as the bits of a subnormal, in which the lowest
eight bits of bf16, eleven of fp16, count alike: so two codes of a half word need no
shift and none needs a second operand. One multiplication and addition, exact, brings
them to a power of two that the type has, and leaves the zero point out; what is missing
to 1 is :attr:`Upcast.factor`.

Each block also takes a number that is always 0, the *gate*, which the assembler cannot
know. It is joined to the word first, so nothing is done to a word before the gate is
there: the loads that were issued before it stay in front of all that waits for them.

A multiprocessor of sm_90 does 64 logical operations or shifts a cycle, but 128 lanes of
packed 16-bit arithmetic, and it can shift to the left by multiplying: so floats are
brought to their places by left shifts where that is possible.

Target register i takes the elements at positions i and i + n of the word, for n
registers: the order that ``memory_order.derive`` assumes. Sign and magnitude of a 4-bit
float go to bits that are far apart; so its four bits are apart in the word too, as
``bit_places`` says, and most codes need one shift and one mask.
"""

from dataclasses import dataclass
from typing import Final

import torch

from algebra.errors import UnsupportedLayoutError
from compiler.mixed.formats import WeightFormat

TARGETS: Final = ("bf16", "fp16")
"""Types of activations, by their names in Triton."""

_PACKED: Final = {"bf16": "bf16x2", "fp16": "f16x2"}
"""Two of a type in a register, by PTX's name."""

_DTYPES: Final = {"bf16": torch.bfloat16, "fp16": torch.float16}

_AND_OR: Final = "0xea"  # (a & b) | c
_AND_XOR: Final = "0x6a"  # (a & b) ^ c


@dataclass(frozen=True, slots=True)
class Upcast:
    """A block of PTX from a word (``$r``) to 16-bit registers.

    Attributes:
        text: The block, ready for ``inline_asm_elementwise``.
        constraints: Its operands' kinds.
        outputs: Number of results: register by register, low half first.
        takes_zeros: Whether a second word holds the zero points, as
            :func:`zero_bits` has them, of rows r (low half) and r + 8 (high half). The
            last word is the gate.
        factor: Power of two that the results have to be multiplied by.
    """

    text: str
    constraints: str
    outputs: int
    takes_zeros: bool
    factor: float


_FLOAT4_PLACES: Final = {
    "bf16": (6, 7, 8, 15, 3, 4, 5, 12, 0, 1, 2, 13, 9, 10, 11, 14),
    "fp16": (9, 10, 11, 15, 6, 7, 8, 12, 3, 4, 5, 13, 0, 1, 2, 14),
}
"""11 shifts and masks for four codes; 15 where the bits of a code are neighbours."""


def bit_places(format: WeightFormat, target: str) -> tuple[int, ...]:
    """Return where each bit of a half word's codes is, the first code's lowest first.

    Both halves of a word are alike.

    Example:
        >>> from compiler.mixed.formats import FORMATS
        >>> bit_places(FORMATS["int4"], "bf16") == tuple(range(16))
        True
        >>> bit_places(FORMATS["mxfp4"], "bf16")[:4]  # the first code
        (6, 7, 8, 15)
    """
    if format.name in ("mxfp4", "nvfp4"):
        return _FLOAT4_PLACES[target]
    return tuple(range(16))


_SMALLEST: Final = {"bf16": -133, "fp16": -24}
"""Exponent of the smallest subnormal, what a code in the lowest bits counts."""

_INT4: Final = {"bf16": -6, "fp16": -9}
"""Exponent of what a code counts in the end: a larger factor would not fit the type."""


def zero_bits(zeros: torch.Tensor, target: str) -> torch.Tensor:
    """Return zero points as the kernel adds them: minus them, as small as codes are.

    Args:
        zeros: Integers 0 to 15.
        target: ``"bf16"`` or ``"fp16"``.

    Returns:
        The floats' bits, int16, of the same shape.

    Example:
        >>> zero_bits(torch.tensor([8]), "bf16").view(torch.bfloat16)
        tensor([-0.1250], dtype=torch.bfloat16)
    """
    small = zeros.to(torch.float32) * -(2.0 ** _INT4[target])
    return small.to(_DTYPES[target]).view(torch.int16)


def zero_points(bits: torch.Tensor, target: str) -> torch.Tensor:
    """Return the zero points, uint8, of which :func:`zero_bits` made these bits."""
    small = bits.view(_DTYPES[target]).to(torch.float32)
    return (small * -(2.0 ** -_INT4[target])).to(torch.uint8)


def upcast(format: WeightFormat, target: str, *, zeros: bool = False) -> Upcast:
    """Return the operations that upcast one word.

    Args:
        format: Of the weights.
        target: ``"bf16"`` or ``"fp16"``.
        zeros: Whether int4 weights have zero points of their own.

    Raises:
        UnsupportedLayoutError: There is no such combination.

    Example:
        >>> from compiler.mixed.formats import FORMATS
        >>> upcast(FORMATS["fp8e5m2"], "fp16").outputs
        4
    """
    if target not in TARGETS:
        raise UnsupportedLayoutError(
            f"target must be one of {TARGETS}, got target={target!r}; convert the "
            "activations"
        )
    if zeros and format.name != "int4":
        raise UnsupportedLayoutError(
            f"only int4 weights have zero points, got format={format.name!r}"
        )
    registers = 16 // format.bits
    word = registers * 2
    gate = word + (2 if zeros else 1)
    lines = [f".reg .b32 g, t, u, v, z, w<{registers}>;", "or.b32 g, $w, $g;"]
    for i in range(registers):
        if format.name == "int4":
            lines += _int4(i, target, f"${word + 1}" if zeros else "")
        elif format.name == "int8":
            lines += _int8(i, target)
        else:
            lines += _float(i, format, target)
    lines = [line.replace("$w", f"${word}").replace("$g", f"${gate}") for line in lines]
    for i in range(registers):
        lines.append(f"mov.b32 {{${2 * i}, ${2 * i + 1}}}, w{i};")
    constraints = ",".join(["=h"] * word + ["r"] * (gate - word + 1))
    factor = 2.0 ** -_INT4[target] if format.name == "int4" else 1.0
    text = "{ " + " ".join(lines) + " }"
    return Upcast(text, constraints, word, zeros, factor)


def _moved(to: str, distance: int) -> str:
    """Return a line that shifts the word, to the left if ``distance`` is positive."""
    if distance == 0:
        return f"mov.b32 {to}, g;"
    if distance > 0:
        return f"shl.b32 {to}, g, {distance};"
    return f"shr.u32 {to}, g, {-distance};"


def _int4(register: int, target: str, zeros: str) -> list[str]:
    odd = register & 1  # these are of rows r + 8, and in bits 4 to 7
    mask = "0x00F000F0" if odd else "0x000F000F"
    factor = _twice(2.0 ** (_INT4[target] - _SMALLEST[target] - 4 * odd), target)
    lines = [
        _moved("t", -8 * (register // 2)),
        f"and.b32 t, t, {mask};",
        f"mov.b32 u, {factor};",
    ]
    if zeros:
        lines.append(f"prmt.b32 z, {zeros}, {zeros}, {'0x3232' if odd else '0x1010'};")
    else:
        lines.append(f"mov.b32 z, {_twice(-8 * 2.0 ** _INT4[target], target)};")
    return [*lines, f"fma.rn.{_PACKED[target]} w{register}, t, u, z;"]


def _twice(value: float, target: str) -> str:
    """Return a float's bits in both halves of a word, as PTX spells them."""
    bits = int(torch.tensor(value, dtype=_DTYPES[target]).view(torch.int16)) & 0xFFFF
    return f"0x{bits | bits << 16:08X}"


def _int8(register: int, target: str) -> list[str]:
    lines = [_moved("t", -8 * register)]
    if target == "bf16":
        # 128 + the low 7 bits, minus 128 or 256 by the sign: all in bf16's mantissa
        return [
            *lines,
            f"lop3.b32 u, t, 0x007F007F, 0x43004300, {_AND_OR};",
            f"lop3.b32 v, t, 0x00800080, 0x43004300, {_AND_OR};",
            f"sub.bf16x2 w{register}, u, v;",
        ]
    return [
        *lines,
        f"lop3.b32 u, t, 0x00FF00FF, 0x64806480, {_AND_XOR};",
        "mov.b32 v, 0x64806480;",
        f"sub.f16x2 w{register}, u, v;",
    ]


_FLOATS: Final = {
    "fp8e4m3": (4, 3),
    "fp8e5m2": (5, 2),
    "mxfp4": (2, 1),
    "nvfp4": (2, 1),
}
"""Exponent and mantissa bits."""

_TARGET_FLOATS: Final = {"bf16": (8, 7), "fp16": (5, 10)}


def _float(register: int, format: WeightFormat, target: str) -> list[str]:
    exponent, mantissa = _FLOATS[format.name]
    wide_exponent, wide_mantissa = _TARGET_FLOATS[target]
    # the sign at the top of ``t``'s halves, the magnitude in its place in ``u``
    first = register * format.bits
    places = bit_places(format, target)[first : first + format.bits]
    top = 15 - places[-1]
    distance = wide_exponent - exponent
    low = wide_mantissa - mantissa
    magnitude = ((1 << exponent + mantissa) - 1) << low
    if distance == 0:
        kept = 0x8000 | magnitude
        return [
            _moved("t", top),
            f"and.b32 w{register}, t, {kept | kept << 16:#x};",
        ]
    # an exponent e means 2 ** (e - bias): the same bits mean too little by the biases'
    # difference, which is a float of the wider type
    bias, wide_bias = (1 << exponent - 1) - 1, (1 << wide_exponent - 1) - 1
    factor = (wide_bias - bias + wide_bias) << wide_mantissa
    kind = _PACKED[target]
    if low - places[0] == top:
        kept = 0x8000 | magnitude
        lines = [_moved("t", top), f"and.b32 u, t, {kept | kept << 16:#x};"]
    else:
        lines = [
            _moved("t", top),
            _moved("u", low - places[0]),
            f"and.b32 u, u, {magnitude | magnitude << 16:#x};",
            f"lop3.b32 u, t, 0x80008000, u, {_AND_OR};",
        ]
    return [
        *lines,
        f"mov.b32 v, {factor | factor << 16:#x};",
        f"mul.{kind} w{register}, u, v;",
    ]
