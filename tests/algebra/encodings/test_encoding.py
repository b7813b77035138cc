"""Every kind keeps the promises of the protocol."""

from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from algebra.encodings import Encoding, from_dict, to_dict
from algebra.encodings.from_dict import KINDS
from algebra.errors import LayoutError

MMA = {
    "kind": "nvidia_mma",
    "version": [2, 0],
    "warps_per_cta": [2, 2],
    "instr_shape": [16, 8],
}
SWIZZLE = {"vec": 2, "per_phase": 1, "max_phase": 4, "order": [1, 0]}
EXAMPLES: list[tuple[dict[str, Any], list[int]]] = [
    (MMA, [32, 32]),
    ({"kind": "slice", "dim": 0, "parent": MMA}, [32]),
    ({"kind": "dot_operand", "op_idx": 0, "k_width": 2, "parent": MMA}, [32, 32]),
    (
        {
            "kind": "blocked",
            "size_per_thread": [1, 4],
            "threads_per_warp": [4, 8],
            "warps_per_cta": [2, 1],
            "order": [1, 0],
            "cga": {"bases": [[0, 1]]},
        },
        [32, 32],
    ),
    (
        {
            "kind": "amd_mfma",
            "version": 3,
            "warps_per_cta": [1, 2],
            "instr_shape": [16, 16, 16],
            "is_transposed": True,
        },
        [32, 32],
    ),
    (
        {
            "kind": "amd_wmma",
            "version": 2,
            "is_transposed": False,
            "cta_layout": {"register": [], "warp": [[0, 1]]},
        },
        [32, 32],
    ),
    ({"kind": "swizzled_shared", **SWIZZLE}, [32, 32]),
    ({"kind": "amd_rotating_shared", **SWIZZLE}, [32, 32]),
    (
        {"kind": "nvmma_shared", "swizzle_byte_width": 32, "element_bit_width": 16},
        [32, 32],
    ),
    (
        {
            "kind": "padded_shared",
            "intervals": [2],
            "paddings": [1],
            "offset": [[1], [2]],
        },
        [4],
    ),
    ({"kind": "shared_linear", "offset": [[1], [2]]}, [4]),
    ({"kind": "linear", "register": [[1]], "lane": [[2]], "warp": []}, [4]),
    (
        {
            "kind": "partitioned_shared",
            "num_partitions": 2,
            "num_groups": 1,
            "partition_dim": 0,
            "partition_layout": {"kind": "swizzled_shared", **SWIZZLE},
        },
        [32, 32],
    ),
    ({"kind": "tensor_memory", "block_m": 128, "block_n": 32}, [128, 32]),
    ({"kind": "tensor_memory_scales"}, [128, 4]),
    ({"kind": "scale_smem_for_tmem_copy"}, [128, 4]),
    (
        {
            "kind": "shmem_reg_to_reg",
            "tensor_shape": [4],
            "rep_shape": [2],
            "order": [0],
        },
        [4],
    ),
    (
        {"kind": "sm120_dot_scaled_scale", "op_idx": 0, "warps_per_cta": [1, 1]},
        [32, 4],
    ),
    (
        {"kind": "mfma_scale", "op_idx": 0, "mfma_m": 16, "warps_per_cta": [1, 1]},
        [32, 4],
    ),
    (
        {"kind": "wmma_scale", "op_idx": 0, "cta_layout": {"warp": [[1, 0]]}},
        [32, 4],
    ),
]


def test_examples_are_of_every_kind() -> None:
    assert {example["kind"] for example, _ in EXAMPLES} == set(KINDS)


@pytest.mark.parametrize(
    ("example", "shape"), EXAMPLES, ids=[example["kind"] for example, _ in EXAMPLES]
)
def test_promises(example: dict[str, Any], shape: list[int]) -> None:
    encoding: Encoding = from_dict(example)
    assert encoding.rank == len(shape)
    assert encoding.kind == example["kind"]
    encoding.cga.check_rank(encoding.kind, encoding.rank)
    for release in ("3.6", "3.7", "3.8", "3.9"):
        layout = encoding.to_linear_layout(shape, release, None, 16)
        assert layout.is_surjective
        assert sorted(layout.out_names) == [f"dim{dim}" for dim in range(len(shape))]
    again = from_dict(to_dict(encoding))
    assert again == encoding
    assert hash(again) == hash(encoding)
    for field in fields(KINDS[encoding.kind]):
        with pytest.raises(FrozenInstanceError):
            setattr(encoding, field.name, None)


MISTAKES: list[Any] = [
    *(None, 0, -1, 3, "x", True, 1.5, [], [1], [[1]], [[[]]], [0, 0], [3, 1]),
    *([None], "12", [[1, 2], [3]], {}, {"kind": "blocked"}, {"lane": 3}, [1 << 70, 1]),
]


@pytest.mark.parametrize(
    ("example", "shape"), EXAMPLES, ids=[example["kind"] for example, _ in EXAMPLES]
)
def test_mistakes_are_layout_errors(example: dict[str, Any], shape: list[int]) -> None:
    """Some of the values are right for some parameter; none may end otherwise."""
    whole = to_dict(from_dict(example))
    refused = 0
    for name in whole:
        for mistake in MISTAKES:
            try:
                from_dict({**whole, name: mistake}).to_linear_layout(shape)
            except LayoutError:
                refused += 1
    assert refused > len(MISTAKES)


@pytest.mark.parametrize(
    ("example", "shape"), EXAMPLES, ids=[example["kind"] for example, _ in EXAMPLES]
)
def test_mistaken_shapes_are_layout_errors(
    example: dict[str, Any], shape: list[int]
) -> None:
    encoding = from_dict(example)
    wrong: list[Any] = [None, 0, [], [0], [3, 3], [None, 1], [-2, 2], ["a", "b"]]
    for mistake in wrong:
        with pytest.raises(LayoutError):
            encoding.to_linear_layout(mistake)
        if mistake is not None:
            with pytest.raises(LayoutError):
                encoding.to_linear_layout(shape, alloc_shape=mistake)
        with pytest.raises(LayoutError):
            encoding.to_linear_layout(shape, mistake)
