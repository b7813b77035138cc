"""How layouts pass through the operations that rename elements and move none.

Each operation has two forms: ``trans(layout, order)`` on linear layouts, and
``infer_trans(encoding, shape, order)``, which keeps an encoding's name where it can.
"""

from .axis import (
    broadcast,
    expand_dims,
    infer_broadcast,
    infer_expand_dims,
    infer_reduce,
    reduce,
)
from .blocked_reshape import default_blocked, reshape_blocked
from .dot import check_dot
from .equivalence import are_equivalent
from .gather import gather_is_warp_local
from .infer_join import infer_fp4_to_fp, infer_join, infer_split
from .join import fp4_to_fp, join, split
from .reshape import infer_reshape, reshape
from .transpose import infer_trans, trans

__all__ = [
    "are_equivalent",
    "broadcast",
    "check_dot",
    "default_blocked",
    "expand_dims",
    "fp4_to_fp",
    "gather_is_warp_local",
    "infer_broadcast",
    "infer_expand_dims",
    "infer_fp4_to_fp",
    "infer_join",
    "infer_reduce",
    "infer_reshape",
    "infer_split",
    "infer_trans",
    "join",
    "reduce",
    "reshape",
    "reshape_blocked",
    "split",
    "trans",
]
