"""Encodings from and to plain dictionaries: the form of the golden files."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from algebra.arguments import expect_encoding
from algebra.errors import EncodingError

from .amd_mfma import AmdMfma
from .amd_rotating_shared import AmdRotatingShared
from .amd_scales import MfmaScale, WmmaScale
from .amd_wmma import AmdWmma
from .blocked import Blocked
from .cga import Cga
from .cta_layout import CtaLayout
from .dot_operand import DotOperand
from .dot_scales import Sm120DotScaledScale
from .encoding import Encoding
from .linear import Linear, SharedLinear
from .nvidia_mma import NvidiaMma
from .nvmma_shared import NvmmaShared
from .padded_shared import PaddedShared
from .parameters import known_keys, needed_keys
from .partitioned_shared import PartitionedShared
from .shmem_reg_to_reg import ShmemRegToReg
from .slice import Slice
from .swizzled_shared import SwizzledShared
from .tensor_memory import TensorMemory
from .tensor_memory_scales import ScaleSmemForTmemCopy, TensorMemoryScales

KINDS: dict[str, type[Any]] = {
    kind.kind: kind
    for kind in (
        AmdMfma,
        AmdRotatingShared,
        AmdWmma,
        Blocked,
        DotOperand,
        Linear,
        MfmaScale,
        NvidiaMma,
        NvmmaShared,
        PaddedShared,
        PartitionedShared,
        ScaleSmemForTmemCopy,
        SharedLinear,
        ShmemRegToReg,
        Slice,
        Sm120DotScaledScale,
        SwizzledShared,
        TensorMemory,
        TensorMemoryScales,
        WmmaScale,
    )
}
"""Every kind of encoding by its name."""


def from_dict(encoding: Mapping[str, Any]) -> Encoding:
    """Return the encoding that a dictionary describes.

    Law: ``from_dict(to_dict(encoding)) == encoding``.

    Args:
        encoding: ``kind``, and the parameters of that kind by name; ``parent`` and
            ``cga`` are dictionaries in turn.

    Raises:
        EncodingError: an unknown kind, a missing or an unknown parameter, or one that
            the kind rejects.

    Example:
        >>> from_dict(
        ...     {
        ...         "kind": "swizzled_shared",
        ...         "vec": 2,
        ...         "per_phase": 1,
        ...         "max_phase": 4,
        ...         "order": [1, 0],
        ...     }
        ... )
        SwizzledShared(vec=2, per_phase=1, max_phase=4, order=(1, 0), cga=Cga(bases=()))
    """
    kind = encoding.get("kind") if isinstance(encoding, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise EncodingError(
            f"an encoding needs a kind among {sorted(KINDS)}, got kind={kind!r}; "
            "name one of them",
            kind=kind,
        )
    given = {name: value for name, value in encoding.items() if name != "kind"}
    for name in ("parent", "partition_layout"):
        if name in given:
            given[name] = from_dict(given[name])
    if kind == AmdWmma.kind:
        cga = Cga.from_dict(given.pop("cga", {}))
        return AmdWmma.from_golden(given, cga)
    declared = fields(KINDS[kind])
    known_keys(kind, given, [field.name for field in declared])
    needed = [field.name for field in declared if field.default is MISSING]
    needed_keys(kind, given, needed)
    if "cga" in given:
        given["cga"] = Cga.from_dict(given["cga"])
    if "cta_layout" in given:
        given["cta_layout"] = CtaLayout.from_dict(given["cta_layout"])
    built: Encoding = KINDS[kind](**given)
    return built


def to_dict(encoding: Encoding) -> dict[str, Any]:
    """Return the dictionary form of an encoding; ``from_dict`` is its inverse.

    Example:
        >>> shared = SwizzledShared(vec=2, per_phase=1, max_phase=4, order=[1, 0])
        >>> to_dict(shared)["order"]
        [1, 0]
    """
    expect_encoding("encoding", encoding)
    result: dict[str, Any] = {"kind": encoding.kind}
    for field in fields(KINDS[encoding.kind]):
        value = getattr(encoding, field.name)
        result[field.name] = _plain(value)
    return result


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, Cga | CtaLayout):
        return value.to_dict()
    return to_dict(value) if hasattr(value, "kind") else value
