"""Colours for the values of a hardware index, light enough for dark text."""

from collections.abc import Callable
from colorsys import hls_to_rgb

from algebra.dims import LANE, OFFSET, WARP
from algebra.errors import DimMismatchError
from algebra.layout import LinearLayout

from .places import Point

Address = Callable[[int], int]
"""Offset before padding -> offset after it [elements]."""

BANK = "bank"
BANKS = 32
BANK_BITS = 32
WHEEL = 256
"""Colours that are told apart; of more values, those this far apart share one."""

UNHELD = "#ffffff"
"""The colour of an element that no place holds."""

SHADES = (0.72, 0.84)
"""Lightness of even and odd values, so that neighbours differ."""


def colour(value: int, count: int) -> str:
    """Return the colour of one of ``count`` values, around the wheel of hues.

    Example:
        >>> colour(0, 4), colour(2, 4)
        ('#ed8282', '#82eded')
    """
    count = min(count, WHEEL)
    shade = SHADES[value % 2 if count > 8 else 0]
    red, green, blue = hls_to_rgb(value % count / count, shade, 0.75)
    return f"#{_byte(red)}{_byte(green)}{_byte(blue)}"


def colour_keys(layout: LinearLayout) -> dict[str, int]:
    """Return what a picture can be coloured by: name -> number of values.

    Each in-dim, and for memory the bank.

    Example:
        >>> colour_keys(LinearLayout.identity_1d(64, "offset", "dim0"))
        {'bank': 32, 'offset': 64}
    """
    banks = {BANK: BANKS} if OFFSET in layout.in_names else {}
    return banks | layout.in_dims


def default_key(layout: LinearLayout) -> str:
    """Return the first of bank, lane, warp and the other in-dims that there is."""
    keys = colour_keys(layout)
    preferred = [key for key in (BANK, LANE, WARP) if key in keys]
    return next(iter([*preferred, *keys]), "")


def check_key(layout: LinearLayout, key: str | None) -> str:
    """Return ``key``, or the default one for None.

    Raises:
        DimMismatchError: the layout has no such in-dim.
    """
    keys = colour_keys(layout)
    if key is None:
        return default_key(layout)
    if key not in keys:
        raise DimMismatchError(
            f"a colour needs one of {list(keys)}, got color_by={key!r}; "
            "name one of these",
            needed=tuple(keys),
            got=key,
        )
    return key


def key_value(
    place: Point, key: str, element_bits: int, address: Address | None = None
) -> int:
    """Return the value of a colour key at a place.

    Args:
        place: Index in each in-dim.
        key: An in-dim, or ``bank``.
        element_bits: Width of an element [bits]; for banks.
        address: Where an offset lives, in padded memory; for banks.

    Example:
        >>> key_value({"offset": 66}, "bank", 16)
        1
    """
    if key == BANK:
        offset = place[OFFSET]
        if address is not None:
            offset = address(offset)
        return offset * element_bits // BANK_BITS % BANKS
    return place[key]


def _byte(part: float) -> str:
    return f"{round(part * 255):02x}"
