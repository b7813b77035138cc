"""Bit operations on a narrow word that yield the 16-bit operands of an instruction.

Floats with fewer exponent and mantissa bits are floats of the wider type with another
bias: their bits are put in place, and one multiplication by a power of two, exact for
subnormals too, corrects the bias. Integers are put into the mantissa of a float whose
unit in the last place is 1, and a subtraction, exact as well, leaves the integer.
(Both are well known; see e.g. the dequantisers of FasterTransformer and Marlin.)

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

from algebra.errors import UnsupportedLayoutError
from compiler.mixed.formats import WeightFormat

TARGETS: Final = ("bf16", "fp16")
"""Types of activations, by their names in Triton."""

_PACKED: Final = {"bf16": "bf16x2", "fp16": "f16x2"}
"""Two of a type in a register, by PTX's name."""

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
            :func:`zero_code` has them, of rows r (low half) and r + 8 (high half). The
            last word is the gate.
    """

    text: str
    constraints: str
    outputs: int
    takes_zeros: bool


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


def zero_code(target: str) -> int:
    """Return the bits of the float that 4-bit codes are put into, as an integer.

    A zero point z is stored as this plus z: 128 + z in bf16 or 1024 + z in fp16.
    """
    return {"bf16": 0x4300, "fp16": 0x6400}[target]


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
    return Upcast("{ " + " ".join(lines) + " }", constraints, word, zeros)


def _moved(to: str, distance: int) -> str:
    """Return a line that shifts the word, to the left if ``distance`` is positive."""
    if distance == 0:
        return f"mov.b32 {to}, g;"
    if distance > 0:
        return f"shl.b32 {to}, g, {distance};"
    return f"shr.u32 {to}, g, {-distance};"


def _int4(register: int, target: str, zeros: str) -> list[str]:
    base = zero_code(target)
    lines = [
        _moved("t", -4 * register),
        f"lop3.b32 w{register}, t, 0x000F000F, {base | base << 16:#x}, {_AND_OR};",
    ]
    if zeros:
        # registers alternate between rows r and r + 8
        half = "0x3232" if register & 1 else "0x1010"
        lines.append(f"prmt.b32 z, {zeros}, {zeros}, {half};")
    else:
        lines.append(f"mov.b32 z, {(base + 8) | (base + 8) << 16:#x};")
    lines.append(f"sub.{_PACKED[target]} w{register}, w{register}, z;")
    return lines


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
