import pytest

from algebra import LinearLayout, bases
from algebra.errors import BasisError, DimMismatchError, LayoutError, NotPowerOfTwoError


def make(vectors: object, outs: object) -> LinearLayout:
    return LinearLayout.from_bases({"lane": vectors}, outs, False)  # type: ignore


@pytest.mark.parametrize(
    ("vectors", "outs", "kind", "words"),
    [
        ([[1, 0], [2]], {"x": 4, "y": 4}, BasisError, "1 coordinates for 2"),
        ([[1, 0]], {"x": 4}, BasisError, "2 coordinates for 1"),
        ([[4]], {"x": 4}, BasisError, r"x=4 is not in \[0, 4\)"),
        ([[-1]], {"x": 4}, BasisError, r"x=-1 is not in \[0, 4\)"),
        ([[-1]], ["x"], BasisError, "x=-1 is not 0 or more"),
        ([[1, -1]], ["x", "y"], BasisError, "y=-1 is not 0 or more"),
        ([[1.5]], {"x": 4}, BasisError, "not a list of ints"),
        ([[1.0]], {"x": 4}, BasisError, "not a list of ints"),
        ([[1.0, 2]], {"x": 4, "y": 4}, BasisError, "not a list of ints"),
        ([["a"]], {"x": 4}, BasisError, "not a list of ints"),
        ([["a"]], ["x"], BasisError, "not a list of ints"),
        ([5], {"x": 4}, BasisError, "not a list of ints"),
        ([[1, 2], [1]], ["x", "y"], BasisError, "1 coordinates for 2"),
        ([[1]], {"x": 6}, NotPowerOfTwoError, "size of out-dim x .* size=6"),
        ([], {"x": 0}, NotPowerOfTwoError, "size=0"),
        ([], {"x": -4}, NotPowerOfTwoError, "size=-4"),
        ([], {"x": "4"}, NotPowerOfTwoError, "size='4'"),
        ([], {"x": [4]}, NotPowerOfTwoError, "size="),
        ([[1]], "x", DimMismatchError, r"write \['x'\]"),
        ([[1, 1]], ["x", "x"], DimMismatchError, "must differ"),
    ],
)
def test_each_mistake_is_named(
    vectors: object, outs: object, kind: type[LayoutError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        make(vectors, outs)


@pytest.mark.parametrize("given", [None, 3, {"lane": 3}, [[1]]])
def test_bases_must_be_a_mapping_to_lists(given: object) -> None:
    with pytest.raises(BasisError, match="map each in-dim to a list"):
        LinearLayout.from_bases(given, ["x"])  # type: ignore[arg-type]


def test_a_basis_error_says_where() -> None:
    with pytest.raises(BasisError, match=r"bases\['lane'\]\[1\]") as info:
        make([[1], [9]], {"x": 4})
    assert info.value.facts == {"in_dim": "lane", "index": 1, "vector": [9]}


class IndexOnly:
    """A number that is no int, as numpy's are."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    def __lt__(self, other: int) -> bool:
        return self.value < other

    def __gt__(self, other: int) -> bool:
        return self.value > other

    def __rshift__(self, bits: int) -> int:
        return self.value >> bits

    def __radd__(self, other: int) -> "IndexOnly":
        return self


def test_other_kinds_of_int_become_ints() -> None:
    numpy = pytest.importorskip("numpy")
    layout = make(numpy.array([[1, 0], [0, 2]]), {"x": 2, "y": 4})
    assert set(map(type, layout.columns)) == {int}
    assert make([[IndexOnly(2)]], {"x": 4}).columns == (2,)
    assert make([[IndexOnly(2), 1]], {"x": 4, "y": 2}).columns == (0b110,)
    assert make([[IndexOnly(2)]], ["x"]).out_dims == {"x": 4}
    assert make([[True], [2]], {"x": 4}).bases == {"lane": ((1,), (2,))}


def test_sizes_are_the_next_power_of_two() -> None:
    assert make([[5, 0], [1, 0]], ["x", "y"]).out_dims == {"x": 8, "y": 1}
    assert make([], ["x"]).out_dims == {"x": 1}
    assert make([[], []], []).bases == {"lane": ((), ())}


def test_more_than_sixty_four_bits() -> None:
    wide = LinearLayout.from_bases(
        {"a": [[1 << i, 0] for i in range(70)], "b": [[0, 1 << i] for i in range(130)]},
        {"x": 1 << 70, "y": 1 << 130},
    )
    assert wide.is_invertible
    assert wide.apply({"a": (1 << 70) - 1, "b": 1 << 129})["y"] == 1 << 129
    assert wide.invert().compose(wide).columns == tuple(1 << i for i in range(200))
    assert wide.invert_and_compose(wide).columns == tuple(1 << i for i in range(200))


def test_pack_and_unpack_are_inverse() -> None:
    vectors = [(1, 2, 0), (0, 3, 1), (0, 0, 0)]
    names, bits, columns = bases.pack(
        {"r": vectors}, list(vectors), {"x": 2, "y": 4, "z": 2}
    )
    assert names == ("x", "y", "z")
    assert bases.unpack(columns, bits) == tuple(vectors)
    assert columns == (0b0101, 0b1110, 0)


def test_the_table_shows_each_power_of_two() -> None:
    layout = LinearLayout.from_bases({"lane": [[1, 0]], "warp": []}, {"x": 2, "y": 1})
    assert str(layout) == (
        "lane=1 -> (1, 0)\nwarp is a size 1 dimension\n"
        "where out dims are: [x (size 2), y (size 1)]"
    )
    assert str(LinearLayout.empty()) == "(empty layout)"
