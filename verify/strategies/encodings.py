"""Encodings of every kind with shapes that they accept, and kernels around pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from algebra import LinearLayout
from algebra.dims import LANE, REGISTER, WARP
from verify.oracle.random_encodings import KINDS, Case, random_case
from verify.ptx.random_conversions import Conversion, random_conversion
from verify.ptx.ttgir_kernel import conversion_kernel

from .conversions import conversions


@st.composite
def encodings(draw: st.DrawFn, kinds: Sequence[str] = KINDS) -> Case:
    """Draw an encoding, as ``algebra.encodings.from_dict`` takes it, and a shape.

    Law: ``from_dict(case.encoding).to_linear_layout(case.shape)`` is a layout, or the
    encoding is one that has none (padded shared memory is not linear).

    Args:
        draw: Given by hypothesis.
        kinds: Kinds to choose from, each of ``random_encodings.KINDS``.

    Raises:
        ValueError: A kind is not known.

    Example:
        >>> from hypothesis import find
        >>> find(encodings(["blocked"]), lambda case: True).kind
        'blocked'
    """
    wrong = [kind for kind in kinds if kind not in KINDS]
    if wrong or not kinds:
        raise ValueError(f"kinds among {list(KINDS)} were needed, got {list(kinds)}")
    kind = draw(st.sampled_from(list(kinds)))
    return random_case(draw(st.randoms(use_true_random=False)), kind)


@dataclass(frozen=True, slots=True)
class KernelCase:
    """A kernel that loads a tensor in one layout, converts it and stores it.

    Attributes:
        conversion: Source and destination encoding, shape, width, warps.
    """

    conversion: Conversion

    def ttgir(self, release: str = "3.7", arch: int = 90) -> str:
        """Return the kernel as TTGIR; its output is its input.

        Args:
            release: Triton's release, for the spelling of the encodings.
            arch: Compute capability times ten.
        """
        case = self.conversion
        return conversion_kernel(
            *case.spelling(release), case.shape, case.element_bits, case.warps, arch
        )

    def gluon(self, release: str = "3.7") -> str:
        """Return a Gluon module: our plan for the conversion in a kernel ``probe``."""
        from compiler.convert.plan import plan

        src, dst = self.conversion.layouts(release)
        return plan(src, dst, self.conversion.element_bits).emit().probe


@st.composite
def kernels(draw: st.DrawFn) -> KernelCase:
    """Draw a kernel around a conversion between two register encodings of a CTA.

    Half of them have any two matrices, and shrink to a conversion that does nothing;
    the others have encodings that compilers use, on tensors of up to three dims.
    """
    if draw(st.booleans()):
        rng = draw(st.randoms(use_true_random=False))
        return KernelCase(random_conversion(rng))
    case = draw(conversions(max_register_bits=3, max_warp_bits=2))
    bits = case.element_bits if case.element_bits <= 64 else 64
    src, dst = case.src.linear, case.dst.linear
    shape = (src.out_dims["dim0"],)
    return KernelCase(
        Conversion(
            _linear_encoding(src), _linear_encoding(dst), shape, bits, src.in_dims[WARP]
        )
    )


def _linear_encoding(layout: LinearLayout) -> dict[str, Any]:
    bases = {
        dim: [list(basis) for basis in layout.bases[dim]]
        for dim in (REGISTER, LANE, WARP)
    }
    shape = list(layout.out_dims.values())
    return {"kind": "linear", **bases, "block": [], "shape": shape}
