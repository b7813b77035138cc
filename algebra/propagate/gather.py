"""Gather: whether each warp already holds what its indices may ask for."""

from algebra.arguments import expect_layout
from algebra.dims import BLOCK, LANE, WARP, dim_name
from algebra.errors import DimMismatchError
from algebra.layout import LinearLayout

from .tensor_dims import check_axis, check_distributed, standard


def gather_is_warp_local(src: LinearLayout, index: LinearLayout, axis: int) -> bool:
    """Say whether a gather along ``axis`` can be done by shuffles within warps.

    An index element at (c, j) may ask for every source element (c, k). That is inside
    its warp for sure if warps and blocks are not spread over the axis, and lanes,
    warps and blocks have the same columns c in both layouts.

    Law: if true, and the bases that are not zero are distinct powers of two as in
    every distributed encoding, then for each element of ``index`` that a warp holds,
    it holds all source elements that differ in coordinate ``axis`` alone.

    Args:
        src: Distributed layout of the source.
        index: Distributed layout of the indices and of the result; sizes differ from
            the source along ``axis`` only.
        axis: Tensor dim along which is gathered.

    Returns:
        False means that shared memory is needed.

    Raises:
        OutOfRangeError: no such axis.
        DimMismatchError: other dims differ, or an in-dim lane, warp or block is
            missing or differs.
        UnsupportedLayoutError: a layout has no registers.

    Source: Triton ``GatherLoweringHelper::isWarpLocal``.
    """
    expect_layout("src", src)
    expect_layout("index", index)
    src, index = standard(src), standard(index)
    check_axis(axis, src.num_out_dims)
    for layout in (src, index):
        check_distributed(layout, "gather")
    others = [name for name in src.out_names if name != dim_name(axis)]
    _check_same_sizes(src, index, others)
    outside = [BLOCK, WARP]
    if not all(
        layout.sublayout_is_zero(outside, [dim_name(axis)]) for layout in (src, index)
    ):
        return False
    return all(
        src.sublayout(in_dims, others) == index.sublayout(in_dims, others)
        for in_dims in (outside, [LANE])
    )


def _check_same_sizes(
    src: LinearLayout, index: LinearLayout, others: list[str]
) -> None:
    hardware = (LANE, WARP, BLOCK)
    sizes = []
    for layout in (src, index):
        in_sizes = {dim: layout.in_dims.get(dim) for dim in hardware}
        out_sizes = {dim: layout.out_dims.get(dim) for dim in others}
        sizes.append(in_sizes | out_sizes)
    same_rank = src.num_out_dims == index.num_out_dims
    if not same_rank or sizes[0] != sizes[1] or None in sizes[0].values():
        raise DimMismatchError(
            f"gather needs lane, warp and block and the dims {others} with the same "
            f"sizes in src and index, got src={sizes[0]}, index={sizes[1]}; "
            "convert or reshape one of them",
            src=sizes[0],
            index=sizes[1],
        )
