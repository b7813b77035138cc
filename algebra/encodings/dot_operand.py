"""DotOperand: how a matrix instruction wants its inputs in registers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.errors import EncodingError
from algebra.layout import LinearLayout

from .amd_mfma import AmdMfma
from .amd_wmma import AmdWmma
from .blocked import Blocked
from .cga import Cga
from .nvidia_mma import NvidiaMma
from .parameters import check_no_view, check_release, choice, integer, power

WMMA_WIDTHS = {1: (8, 16), 2: (4, 8, 16)}
"""Widths of WMMA operands for the versions that allow not all [elements]."""

Parent = Blocked | NvidiaMma | AmdMfma | AmdWmma


@dataclass(frozen=True, slots=True, kw_only=True)
class DotOperand:
    """Operand A (``op_idx`` 0) or B (1) of a dot whose result has encoding ``parent``.

    Attributes:
        op_idx: 0 for the left operand (M x K), 1 for the right one (K x N).
        parent: Encoding of the result.
        k_width: Neighbours along K that a thread holds [elements]; 0 for a blocked
            parent.

    Raises:
        EncodingError: an operand that the parent's instruction does not have.
        NotPowerOfTwoError: ``k_width`` is not a power of two.

    Example:
        >>> parent = NvidiaMma(
        ...     version=[2, 0], warps_per_cta=[1, 1], instr_shape=[16, 8]
        ... )
        >>> operand = DotOperand(op_idx=1, parent=parent, k_width=2)
        >>> operand.to_linear_layout([16, 8]).bases["register"]
        ((1, 0), (8, 0))

    Source: Triton ``DotOperandEncodingAttr::toLinearLayout``.
    """

    kind: ClassVar[str] = "dot_operand"
    op_idx: int
    parent: Parent
    k_width: int = 0

    def __post_init__(self) -> None:
        choice(self.kind, "op_idx", self.op_idx, (0, 1))
        if not isinstance(self.parent, Parent):
            raise EncodingError(
                "dot_operand needs a parent that is the result of a dot (blocked, "
                "nvidia_mma, amd_mfma, amd_wmma), got "
                f"parent={type(self.parent).__name__}; give the result's encoding",
                parent=self.parent,
            )
        integer(self.kind, "k_width", self.k_width)
        if isinstance(self.parent, Blocked):
            choice("dot_operand of blocked", "k_width", self.k_width, (0,))
            integer("dot_operand of blocked", "rank", self.parent.rank, low=2)
        else:
            power(f"dot_operand of {self.parent.kind}", "k_width", self.k_width)
        if isinstance(self.parent, AmdWmma) and self.parent.version in WMMA_WIDTHS:
            widths = WMMA_WIDTHS[self.parent.version]
            choice("dot_operand of this amd_wmma", "k_width", self.k_width, widths)
        if isinstance(self.parent, NvidiaMma) and self.parent.version[0] == 3:
            choice("dot_operand of nvidia_mma version 3", "op_idx", self.op_idx, (0,))

    @property
    def rank(self) -> int:
        """Number of tensor dims."""
        return self.parent.rank

    @property
    def k_dim(self) -> int:
        """Tensor dim that the dot sums over."""
        return self.rank - 1 - self.op_idx

    @property
    def cga(self) -> Cga:
        """The parent's split; CTAs along K hold copies."""
        return self.parent.cga.without(self.k_dim)

    def to_linear_layout(
        self,
        shape: Sequence[int],
        release: str = "3.9",
        alloc_shape: Sequence[int] | None = None,
        element_bits: int | None = None,
    ) -> LinearLayout:
        """Return the map from (register, lane, warp, block); see ``Encoding``."""
        check_release(release)
        check_no_view(self.kind, shape, alloc_shape)
        return self.parent.operand_layout(self.op_idx, self.k_width, shape, release)
