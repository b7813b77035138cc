"""Mistakes that a caller of the manifolds can make, one class each.

They extend the errors of the algebra: a message names what was needed, what came as
``name=value`` and the way out, and the facts are attributes.
"""

from algebra.errors import LayoutError


class ShapeError(LayoutError):
    """A tensor has the wrong number of dims or the wrong extents."""


class PrecisionError(LayoutError, TypeError):
    """The dtype is an integer, a half precision, or real where complex is needed."""


class NotOnManifoldError(LayoutError):
    """A point lies too far from its manifold; ``defect`` says how far."""


class MapError(LayoutError):
    """The manifold has no map or sampler of that name; ``known`` lists those it has."""


class RankError(LayoutError):
    """A rank or another parameter of a manifold is out of its range."""


class PolicyError(LayoutError):
    """A period or an optimizer-state policy has no meaning."""


class CheckpointError(LayoutError):
    """A checkpoint was written by a run with other settings."""


class DataError(LayoutError, FileNotFoundError):
    """The files of a data set are not where the caller says they are."""
