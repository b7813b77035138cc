"""The repository's own vectors: encodings and the bases that a Triton wheel gave."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from algebra.encodings import Encoding, from_dict
from algebra.layout import LinearLayout

FOLDER = Path(__file__).with_name("vectors")
KINDS = (
    "blocked",
    "slice",
    "dot_operand",
    "nvidia_mma_v2",
    "nvidia_mma_v3",
    "swizzled_shared",
)
"""The six modelled kinds, one file each, written by ``record_vectors.py``."""


@dataclass(frozen=True, slots=True)
class Vector:
    """One recorded encoding.

    Attributes:
        encoding: The encoding.
        shape: Tensor shape.
        release: Release of the wheel that answered.
        bases: What it answered: in-dim -> vectors over the tensor dims.
    """

    encoding: Encoding
    shape: tuple[int, ...]
    release: str
    bases: dict[str, Any]

    def layout(self) -> LinearLayout:
        """Return the algebra's layout."""
        return self.encoding.to_linear_layout(self.shape, self.release)

    def agrees(self, layout: LinearLayout) -> bool:
        """Say whether a layout has the recorded bases."""
        mine = {
            name: [list(vector) for vector in vectors]
            for name, vectors in layout.bases.items()
        }
        return {"block": [], **mine} == {"block": [], **self.bases}


@cache
def vectors_of(kind: str) -> tuple[Vector, ...]:
    """Return the recorded vectors of a kind.

    Args:
        kind: One of ``KINDS``.

    Example:
        >>> len(vectors_of("blocked")) >= 40
        True
    """
    record = json.loads((FOLDER / f"{kind}.json").read_text())
    return tuple(
        Vector(
            from_dict(vector["encoding"]),
            tuple(vector["shape"]),
            record["release"],
            vector["bases"],
        )
        for vector in record["vectors"]
    )
