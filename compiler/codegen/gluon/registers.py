"""PTX that permutes the elements of a thread's registers.

Elements narrower than a word are picked by ``prmt``, which takes any four bytes of two
words. A word whose bytes come from more than two words is made of two halves, each
picked from two words; halves from the same pair of words share one ``prmt``. So a
4 x 4 byte transpose takes eight instructions. Whole words only change their names.
"""

from collections.abc import Sequence

from compiler.permuting.index_map import table

_BYTES = 4


def permute_registers(
    columns: Sequence[int], offset: int, element_bytes: int, flips: str = "none"
) -> tuple[str, str]:
    """Return PTX and its operand constraints: outputs first, then inputs.

    Args:
        columns: The element at place x of the output comes from place
            ``columns * x ^ offset`` of the input, an invertible map.
        offset: See above.
        element_bytes: 1, 2 or 4 [bytes].
        flips: Which places within words a thread may flip besides: ``"input"`` or
            ``"output"``. Then each word has a second operand, the xor of the places
            of bytes.

    Returns:
        Text for ``inline_asm_elementwise`` on 32-bit words, all of a thread in one
        pack.

    Example:
        >>> text, constraints = permute_registers([2, 1], 0, 2)
        >>> print(text)
        prmt.b32 $0, $2, $3, 0x5410;
        prmt.b32 $1, $2, $3, 0x7632;
        >>> constraints
        '=r,=r,r,r'
    """
    places = table(columns, offset)
    sources = [
        place * element_bytes + byte
        for place in places
        for byte in range(element_bytes)
    ]
    count = len(sources) // _BYTES
    words = [sources[_BYTES * i : _BYTES * (i + 1)] for i in range(count)]
    program = _Program(count, flips)
    for number, word in enumerate(words):
        program.make(f"${number}", word)
    operands = 1 if flips == "none" else 2
    constraints = ",".join(["=r"] * count + ["r"] * count * operands)
    return program.text(), constraints


class _Program:
    """The instructions, with selectors and temporary words named as they come."""

    def __init__(self, count: int, flips: str) -> None:
        self.count = count
        self.flips = flips
        self.selectors: dict[tuple[int, bool], str] = {}
        self.setup: list[str] = []
        self.halves: list[list[list[int]]] = []
        self._open: dict[tuple[int, ...], int] = {}
        self.lines: list[str] = []

    def make(self, name: str, word: list[int]) -> None:
        """Set a word to these bytes of the input words."""
        used = sorted({byte // _BYTES for byte in word})
        if len(used) <= 2:
            self.lines.append(self._pick(name, word, last=True))
            return
        low, high = self._half(word[:2]), self._half(word[2:])
        selector = self._selector(low[1] | high[1] + 0x44 << 8, first=False, last=True)
        self.lines.append(f"prmt.b32 {name}, {low[0]}, {high[0]}, {selector};")

    def text(self) -> str:
        """Return all instructions."""
        halves = [
            self._pick(f"t{number}", [byte for half in pair for byte in half])
            for number, pair in enumerate(self.halves)
        ]
        lines = [*self.setup, *halves, *self.lines]
        declared = []
        if self.halves:
            declared.append(f".reg .b32 t<{len(self.halves)}>;")
        if self.selectors:
            names = ", ".join(self.selectors.values())
            declared.append(f".reg .b32 {names}, swapped; .reg .pred odd, high;")
        return "\n".join(["{", *declared, *lines, "}"] if declared else lines)

    def _half(self, half: list[int]) -> tuple[str, int]:
        """Return the name of a word with these two bytes, and their selector."""
        key = tuple(sorted({byte // _BYTES for byte in half}))
        number = self._open.get(key)
        if number is None or len(self.halves[number]) == 2:
            number = self._open[key] = len(self.halves)
            self.halves.append([])
        self.halves[number].append(half)
        return f"t{number}", 0x10 if len(self.halves[number]) == 1 else 0x32

    def _pick(self, name: str, bytes_: list[int], *, last: bool = False) -> str:
        """Return the instruction that picks bytes of at most two input words."""
        used = sorted({byte // _BYTES for byte in bytes_})
        value = 0
        for place, byte in enumerate(bytes_):
            nibble = used.index(byte // _BYTES) * _BYTES + byte % _BYTES
            value |= nibble << 4 * place
        one, other = f"${self.count + used[0]}", f"${self.count + used[-1]}"
        flipped = self.flips == "input" or (self.flips == "output" and last)
        if value == 0x3210 and not flipped:
            return f"mov.b32 {name}, {one};"
        selector = self._selector(value, first=True, last=last)
        return f"prmt.b32 {name}, {one}, {other}, {selector};"

    def _selector(self, value: int, *, first: bool, last: bool) -> str:
        """Return a selector, changed by the thread's flip where that is due."""
        inward = self.flips == "input" and first
        if not inward and not (self.flips == "output" and last):
            return f"{value:#06x}"
        name = self.selectors.get((value, inward))
        if name is None:
            name = self.selectors[value, inward] = f"s{len(self.selectors)}"
            flip = f"${2 * self.count}"
            if inward:
                self.setup += [
                    f"mul.lo.u32 swapped, {flip}, 0x1111;",
                    f"xor.b32 {name}, swapped, {value:#06x};",
                ]
            else:
                choices = [_places_flipped(value, by) for by in range(_BYTES)]
                self.setup += [
                    f"and.b32 swapped, {flip}, 1;",
                    "setp.ne.u32 odd, swapped, 0;",
                    f"and.b32 swapped, {flip}, 2;",
                    "setp.ne.u32 high, swapped, 0;",
                    f"selp.b32 {name}, {choices[1]:#06x}, {choices[0]:#06x}, odd;",
                    f"selp.b32 swapped, {choices[3]:#06x}, {choices[2]:#06x}, odd;",
                    f"selp.b32 {name}, swapped, {name}, high;",
                ]
        return name


def _places_flipped(selector: int, by: int) -> int:
    """Return the selector whose nibble i is nibble ``i ^ by``."""
    nibbles = [selector >> 4 * (place ^ by) & 0xF for place in range(_BYTES)]
    return sum(nibble << 4 * place for place, nibble in enumerate(nibbles))
