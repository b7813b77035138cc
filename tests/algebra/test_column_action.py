from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import (
    ColumnAction,
    LinearLayout,
    action_additive_strides,
    action_remove_broadcasted_regs,
    broadcast_as,
    reg_perm_for_divide,
)
from algebra.errors import DimMismatchError, NotInvertibleError

columns_of = st.lists(st.integers(0, 31), max_size=5)


def registers(columns: list[int], lanes: list[int] | None = None) -> LinearLayout:
    lanes = lanes or []
    ins = {"register": len(columns), "lane": len(lanes)}
    return LinearLayout.from_columns(ins, {"offset": 5}, [*columns, *lanes])


@given(columns_of, columns_of, st.data())
def test_layout_and_values_stay_in_step(
    columns: list[int], lanes: list[int], data: st.DataObject
) -> None:
    layout = registers(columns, lanes)
    order = data.draw(st.permutations(range(len(columns))))
    kept = order[: data.draw(st.integers(0, len(order)))]
    action = ColumnAction(tuple(kept), "register", len(columns))
    moved = action.apply(layout)
    held = [
        layout({"register": r, "lane": 0})["offset"] for r in range(2 ** len(columns))
    ]
    assert action.apply_values(held) == [
        moved({"register": r, "lane": 0})["offset"] for r in range(2 ** len(kept))
    ]


def test_every_permutation_of_three_bits() -> None:
    layout = registers([1, 2, 4], [8, 16])
    for order in permutations(range(3)):
        action = ColumnAction(order, "register", 3)
        assert action.inverse().apply(action.apply(layout)) == layout
        both = action.inverse().left_compose(action)
        assert both.is_identity == (both == ColumnAction.identity("register", 3))
        assert both.is_identity
        for second in permutations(range(3)):
            after = ColumnAction(second, "register", 3)
            assert after.left_compose(action).apply(layout) == (
                after.apply(action.apply(layout))
            )


@pytest.mark.parametrize("action", [(0, 0), (3,), (-1,)])
def test_bits_must_exist_and_differ(action: tuple[int, ...]) -> None:
    with pytest.raises(DimMismatchError, match=r"distinct bits of 0..2"):
        ColumnAction(action, "register", 3)


def test_other_mistakes() -> None:
    drop = ColumnAction((1,), "register", 2)
    with pytest.raises(NotInvertibleError, match="only a permutation"):
        drop.inverse()
    with pytest.raises(DimMismatchError, match="needed 4 values"):
        drop.apply_values([1])
    with pytest.raises(DimMismatchError, match="must have 2 bits, got 3"):
        drop.apply(registers([1, 2, 4]))
    with pytest.raises(DimMismatchError, match="must leave 2 bits of register"):
        drop.left_compose(drop)


@given(columns_of)
def test_broadcast_registers_go_and_come_back(columns: list[int]) -> None:
    layout = registers(columns)
    action = action_remove_broadcasted_regs(layout)
    dense = action.apply(layout)
    assert all(dense.in_columns("register"))
    held = [layout({"register": r, "lane": 0}) for r in range(2 ** len(columns))]
    assert broadcast_as(action.apply_values(held), layout) == held
    with pytest.raises(DimMismatchError, match="values, got"):
        broadcast_as([*held, *held], layout)


def test_registers_of_a_tile_are_brought_to_the_front_or_back() -> None:
    layout = LinearLayout.from_bases(
        {"register": [[4], [1], [2]], "lane": [[8]]}, {"offset": 16}
    )
    tile = LinearLayout.identity_1d(4, "register", "offset")
    front = reg_perm_for_divide(layout, tile)
    assert front is not None
    assert front.action == (1, 2, 0)
    assert front.apply(layout).divide_left(tile) is not None
    high = LinearLayout.from_bases({"register": [[8], [1], [2]]}, {"offset": 16}, False)
    back = reg_perm_for_divide(
        high, LinearLayout.identity_1d(2, "register", "offset"), left=False
    )
    assert back is not None
    assert back.action == (1, 2, 0)
    assert (
        reg_perm_for_divide(layout, LinearLayout.strided_1d(2, 8, "register", "offset"))
        is None
    )
    doubled = LinearLayout.from_bases({"register": [[1], [1]]}, {"offset": 2})
    assert reg_perm_for_divide(layout, doubled) is None
    other = LinearLayout.identity_1d(2, "lane", "x")
    assert reg_perm_for_divide(layout, other) == ColumnAction.identity("register", 3)


@given(columns_of, columns_of)
def test_additive_registers_add(columns: list[int], lanes: list[int]) -> None:
    layout = registers(columns, lanes)
    count, action = action_additive_strides(layout)
    moved = action.apply(layout)
    for register in range(2 ** len(columns)):
        low = register % count
        for lane in range(2 ** len(lanes)):
            whole = moved({"register": register, "lane": lane})["offset"]
            base = moved({"register": register - low, "lane": lane})["offset"]
            step = moved({"register": low, "lane": 0})["offset"]
            assert whole == base + step


def test_a_swizzled_register_is_not_additive() -> None:
    count, action = action_additive_strides(registers([1, 6, 8], [2]))
    assert count == 4
    assert action.action == (0, 2, 1)
