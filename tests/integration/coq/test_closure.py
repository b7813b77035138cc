"""Both sides of each theorem of ``closure.v``, on random instances."""

from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import LinearLayout
from algebra.dims import dim_name
from algebra.encodings import Blocked, Slice
from algebra.propagate import broadcast, join, reshape, split, trans
from verify.strategies import layouts, surjections

LAW = settings(max_examples=30)


@st.composite
def tensors(draw: st.DrawFn) -> LinearLayout:
    """Distributed layouts of a tensor of one to three dims, surjective."""
    rank = draw(st.integers(1, 3))
    dims = {dim_name(i): draw(st.integers(0, 2)) for i in range(rank)}
    return draw(surjections(out_dims=dims))


def shape(layout: LinearLayout) -> list[int]:
    return list(layout.out_dims.values())


@LAW
@given(layouts(5), st.data())
def test_transpose_of_surjective_is_surjective(
    layout: LinearLayout, data: st.DataObject
) -> None:
    ins = data.draw(st.permutations(layout.in_names))
    outs = data.draw(st.permutations(layout.out_names))
    moved = layout.transpose_ins(ins).transpose_outs(outs)
    assert moved.rank == layout.rank
    assert moved.is_surjective == layout.is_surjective


@LAW
@given(tensors(), st.data())
def test_transpose_of_a_tensor_is_surjective(
    layout: LinearLayout, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(shape(layout)))))
    assert trans(layout, order).is_surjective


@LAW
@given(layouts(5), st.data())
def test_reshape_of_surjective_is_surjective(
    layout: LinearLayout, data: st.DataObject
) -> None:
    total = layout.get_total_out_dim_size_log2()
    cut = data.draw(st.integers(0, total))
    again = layout.reshape_outs({"low": 1 << cut, "high": 1 << total - cut})
    assert again.columns == layout.columns
    assert again.is_surjective == layout.is_surjective


@LAW
@given(tensors(), st.data())
def test_reshape_of_a_tensor_is_surjective(
    layout: LinearLayout, data: st.DataObject
) -> None:
    total = layout.get_total_out_dim_size_log2()
    cut = data.draw(st.integers(0, total))
    again = reshape(layout, [1 << cut, 1 << total - cut])
    assert again.is_surjective and again.rank == layout.rank


@LAW
@given(tensors())
def test_join_of_surjective_is_surjective(layout: LinearLayout) -> None:
    joined = join(layout)
    assert joined.is_surjective and joined.rank == layout.rank + 1
    assert shape(joined) == [*shape(layout), 2]


@LAW
@given(tensors())
def test_split_undoes_join_and_keeps_surjective(layout: LinearLayout) -> None:
    half = split(join(layout))
    assert half == layout.transpose_outs(half.out_names)
    assert half.is_surjective


@LAW
@given(layouts(5), st.data())
def test_slice_of_surjective_is_surjective(
    layout: LinearLayout, data: st.DataObject
) -> None:
    kept = [name for name in layout.out_names if data.draw(st.booleans())]
    part = layout.sublayout(layout.in_names, kept)
    assert part.is_surjective or not layout.is_surjective


@LAW
@given(st.integers(0, 1), st.data())
def test_slice_of_blocked_is_surjective(dim: int, data: st.DataObject) -> None:
    exponents = st.tuples(st.integers(0, 2), st.integers(0, 2))
    sizes = [tuple(1 << e for e in data.draw(exponents)) for _ in range(4)]
    parent = Blocked(
        size_per_thread=sizes[0],
        threads_per_warp=sizes[1],
        warps_per_cta=sizes[2],
        order=data.draw(st.sampled_from([(0, 1), (1, 0)])),
    )
    layout = Slice(dim=dim, parent=parent).to_linear_layout([sizes[3][1 - dim]])
    assert layout.is_surjective


@LAW
@given(layouts(4), layouts(4), st.integers(0, 2))
def test_broadcast_to_more_inputs_keeps_surjective(
    layout: LinearLayout, other: LinearLayout, extra: int
) -> None:
    for dim in layout.in_names:
        size = layout.get_in_dim_size(dim)
        wider = layout.resize_in_dim(dim, size << extra)
        assert wider.is_surjective == layout.is_surjective
    more = LinearLayout.from_columns(
        {"more": len(other.columns)},
        dict(zip(layout.out_names, layout.out_bits, strict=True)),
        [c % layout.get_total_out_dim_size() for c in other.columns],
    )
    assert layout.concat_ins(more).is_surjective or not layout.is_surjective


@LAW
@given(tensors(), st.data())
def test_broadcast_of_surjective_is_surjective(
    layout: LinearLayout, data: st.DataObject
) -> None:
    wanted = [
        1 << data.draw(st.integers(0, 2)) if size == 1 else size
        for size in shape(layout)
    ]
    wide = broadcast(layout, wanted)
    assert wide.is_surjective and shape(wide) == wanted


@LAW
@given(surjections(), st.data())
def test_mask_keeps_surjective_and_splits_no_element(
    layout: LinearLayout, data: st.DataObject
) -> None:
    masked = layout
    for name, bits in zip(layout.out_names, layout.out_bits, strict=True):
        masked = masked.resize_out_dim(name, 1 << data.draw(st.integers(0, bits)))
    assert masked.is_surjective
    held: dict[int, int] = {}
    for i in range(layout.get_total_in_dim_size()):
        image = masked.apply_index(i)
        assert held.setdefault(layout.apply_index(i), image) == image
