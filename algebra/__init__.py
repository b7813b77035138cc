"""Layouts as maps over F2: the algebra, every encoding, and what follows from them."""

from typing import TYPE_CHECKING

from .affine import AffineLayout
from .bank_conflicts import bank_conflicts
from .column_action import (
    ColumnAction,
    action_additive_strides,
    action_remove_broadcasted_regs,
    broadcast_as,
    reg_perm_for_divide,
)
from .dims import standard_out_dim_names, standard_out_dim_pairs
from .division import supremum
from .errors import (
    ArgumentError,
    BasisError,
    DimMismatchError,
    EncodingError,
    LayoutError,
    NotInvertibleError,
    NotPowerOfTwoError,
    NotSolvableError,
    NotSurjectiveError,
    OutOfRangeError,
    ParseError,
    UnsupportedLayoutError,
)
from .layout import LinearLayout
from .masks import (
    factor_maximal_identity_prefix,
    get_input_basis_mask,
    get_output_basis_mask,
    invert_and_compose_block_local,
    invert_and_compose_local,
    lstsq,
    square_sublayout_is_identity,
)
from .shapes import (
    ensure_layout_not_larger_than,
    ensure_layout_not_smaller_than,
    get_reps,
    identity_standard_nd,
    remove_standard_dim,
    rename_linear_layout_dims,
    reshape_layout,
    transpose_linear_layout,
    zeros_like,
)
from .verdict import Proved, Refuted, Unknown, Verdict
from .why_not_linear import NotAffine, why_not_linear

if TYPE_CHECKING:
    from .ttgir import parse_encoding, print_encoding

__all__ = [
    "AffineLayout",
    "ArgumentError",
    "BasisError",
    "ColumnAction",
    "DimMismatchError",
    "EncodingError",
    "LayoutError",
    "LinearLayout",
    "NotAffine",
    "NotInvertibleError",
    "NotPowerOfTwoError",
    "NotSolvableError",
    "NotSurjectiveError",
    "OutOfRangeError",
    "ParseError",
    "Proved",
    "Refuted",
    "Unknown",
    "UnsupportedLayoutError",
    "Verdict",
    "action_additive_strides",
    "action_remove_broadcasted_regs",
    "bank_conflicts",
    "broadcast_as",
    "ensure_layout_not_larger_than",
    "ensure_layout_not_smaller_than",
    "factor_maximal_identity_prefix",
    "get_input_basis_mask",
    "get_output_basis_mask",
    "get_reps",
    "identity_standard_nd",
    "invert_and_compose_block_local",
    "invert_and_compose_local",
    "lstsq",
    "parse_encoding",
    "print_encoding",
    "reg_perm_for_divide",
    "remove_standard_dim",
    "rename_linear_layout_dims",
    "reshape_layout",
    "square_sublayout_is_identity",
    "standard_out_dim_names",
    "standard_out_dim_pairs",
    "supremum",
    "transpose_linear_layout",
    "why_not_linear",
    "zeros_like",
]


def __getattr__(name: str) -> object:
    """Load the encodings' spelling when it is asked for: most programs never do."""
    if name in ("parse_encoding", "print_encoding"):
        from . import ttgir

        return getattr(ttgir, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
