"""Turn an attribute of a known kind into its encoding.

The spellings of all releases from 3.6 to 3.9 are read, and those of older dumps
(``#triton_gpu.``, three CTA lists) where the encoding is the same.
"""

from algebra.encodings import Encoding
from algebra.errors import LayoutError, ParseError

from .memory_kinds import MEMORY_KINDS
from .parameters import Builder, Parameters
from .reader import Attribute
from .register_kinds import REGISTER_KINDS
from .tokens import complaint

DIALECTS = ("ttg", "triton_gpu", "ttng", "triton_nvidia_gpu")
"""Dialects whose attributes are read."""

BUILDERS: dict[str, Builder] = REGISTER_KINDS | MEMORY_KINDS
"""Builders of all kinds by the name that Triton prints."""


def encode(attribute: Attribute) -> Encoding:
    """Return the encoding that an attribute spells.

    Args:
        attribute: As read from the text.

    Raises:
        ParseError: an unknown kind (lists the known ones), a missing or unknown
            parameter, or parameters that the encoding rejects.
    """
    dialect = attribute.token.text[1:].partition(".")[0]
    build = BUILDERS.get(attribute.kind) if dialect in DIALECTS else None
    if build is None:
        raise complaint(
            attribute.token,
            "an encoding of a known kind",
            f"known after #ttg. or #ttng.: {', '.join(sorted(BUILDERS))}",
        )
    parameters = Parameters(attribute)
    try:
        encoding = build(parameters, encode)
    except ParseError:
        raise
    except LayoutError as error:
        raise complaint(
            attribute.token, "parameters that fit together", str(error)
        ) from error
    parameters.finish()
    return encoding
