from compiler.codegen.gluon.tensor_text import (
    index_of,
    join_tree,
    linear_layout,
    split_last,
    unit_bases,
)


def test_split_names_by_number() -> None:
    assert split_last("x", [2], 4) == [
        "x = gl.reshape(x, [2, 2, 2])",
        "x_0_2, x_1_3 = gl.split(x)",
        "x_0, x_2 = gl.split(x_0_2)",
        "x_1, x_3 = gl.split(x_1_3)",
    ]


def test_join_of_one() -> None:
    assert join_tree(["a"]) == "a"


def test_bases_of_extent_one() -> None:
    assert unit_bases(2, 0, 1) == []
    assert unit_bases(2, 0, 4, 8) == [[8, 0], [16, 0]]


def test_index_of_one_dim() -> None:
    assert index_of("L", [4], 0) == "gl.arange(0, 4, L)"
    assert index_of("L", [4, 8], 1) == (
        "gl.expand_dims(gl.arange(0, 8, gl.SliceLayout(0, L)), 0)"
    )


def test_layout_names_its_shape() -> None:
    assert linear_layout([2], [[1]], [[0]], []).endswith("[], [], [2])")
