"""Attributes of shared and tensor memory, each turned into its encoding."""

from typing import Any

from algebra.encodings import (
    AmdRotatingShared,
    Cga,
    Encoding,
    NvmmaShared,
    PaddedShared,
    PartitionedShared,
    SharedLinear,
    SwizzledShared,
    TensorMemory,
    TensorMemoryScales,
)

from .parameters import Builder, Encode, Parameters
from .tokens import complaint


def _swizzled(parameters: Parameters, kind: type[Any]) -> Encoding:
    built: Encoding = kind(
        vec=parameters.integer("vec"),
        per_phase=parameters.integer("perPhase"),
        max_phase=parameters.integer("maxPhase"),
        order=parameters.integers("order"),
        cga=parameters.cga(),
    )
    return built


def _swizzled_shared(parameters: Parameters, encode: Encode) -> Encoding:
    return _swizzled(parameters, SwizzledShared)


def _amd_rotating_shared(parameters: Parameters, encode: Encode) -> Encoding:
    return _swizzled(parameters, AmdRotatingShared)


def _shared(parameters: Parameters, encode: Encode) -> Encoding:
    if parameters.flag("hasLeadingOffset", False):
        raise complaint(
            parameters.attribute.token,
            "hasLeadingOffset = false",
            "with true the element width is not printed; write #ttg.nvmma_shared",
        )
    return _swizzled(parameters, SwizzledShared)


def _nvmma_shared(parameters: Parameters, encode: Encode) -> Encoding:
    cga = parameters.cga()
    rank = max((len(basis) for basis in cga.bases), default=2)
    return NvmmaShared(
        swizzle_byte_width=parameters.integer("swizzlingByteWidth"),
        transposed=parameters.flag("transposed"),
        element_bit_width=parameters.integer("elementBitWidth"),
        fp4_padded=parameters.flag("fp4Padded", False),
        rank=parameters.integer("rank", rank),
        cga=cga,
    )


def _padded_shared(parameters: Parameters, encode: Encode) -> Encoding:
    pairs = parameters.paddings()
    given: dict[str, Any] = {
        "intervals": tuple(interval for interval, _ in pairs),
        "paddings": tuple(padding for _, padding in pairs),
    }
    if "order" in parameters:
        given["order"] = parameters.integers("order")
        given["shape"] = parameters.integers("shape")
        return PaddedShared.with_identity(**given)
    return PaddedShared(
        **given,
        offset=parameters.vectors("offset"),
        block=parameters.vectors("block", required=False),
    )


def _shared_linear(parameters: Parameters, encode: Encode) -> Encoding:
    return SharedLinear(
        offset=parameters.vectors("offset"),
        block=parameters.vectors("block", required=False),
        alignment=parameters.integer("alignment", 16),
    )


def _partitioned_shared(parameters: Parameters, encode: Encode) -> Encoding:
    layout: Any = encode(parameters.attribute_of("partitionLayout"))
    return PartitionedShared(
        num_partitions=parameters.integer("numPartitions"),
        num_groups=parameters.integer("numGroups"),
        partition_dim=parameters.integer("partitionDim"),
        partition_layout=layout,
    )


def _tensor_memory_cga(parameters: Parameters) -> Cga:
    """Return the split; releases up to 3.6 print the parts along M and N."""
    if "CTASplitM" in parameters or "CTASplitN" in parameters:
        parts = [parameters.integer(f"CTASplit{dim}", 1) for dim in "MN"]
        return Cga.from_split(parts, parts, (0, 1))
    return parameters.cga()


def _tensor_memory(parameters: Parameters, encode: Encode) -> Encoding:
    return TensorMemory(
        block_m=parameters.integer("blockM"),
        block_n=parameters.integer("blockN"),
        col_stride=parameters.integer("colStride"),
        two_ctas=parameters.flag("twoCTAs", False),
        fp4_padded=parameters.flag("fp4Padded", False),
        cga=_tensor_memory_cga(parameters),
    )


def _tensor_memory_scales(parameters: Parameters, encode: Encode) -> Encoding:
    return TensorMemoryScales(cga=_tensor_memory_cga(parameters))


MEMORY_KINDS: dict[str, Builder] = {
    "amd_rotating_shared": _amd_rotating_shared,
    "nvmma_shared": _nvmma_shared,
    "padded_shared": _padded_shared,
    "partitioned_shared": _partitioned_shared,
    "shared": _shared,
    "shared_linear": _shared_linear,
    "swizzled_shared": _swizzled_shared,
    "tensor_memory_encoding": _tensor_memory,
    "tensor_memory_scales_encoding": _tensor_memory_scales,
}
"""Builders by the name that Triton prints."""
