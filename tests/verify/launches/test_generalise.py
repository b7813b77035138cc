from dataclasses import replace
from types import SimpleNamespace

import pytest

from algebra.errors import ArgumentError
from verify.checking.arguments import Buffer, Scalar
from verify.launches.generalise import Forms, by_kernel, generalised
from verify.launches.record import Recording, Tensor

KERNEL = SimpleNamespace(__name__="k")


def launch(rows: int, columns: int, **constants: int) -> Recording:
    x = Tensor("fp32", (rows, columns), (columns, 1), 64)
    return Recording(
        KERNEL,
        {"x": x, "again": x, "y": Tensor("fp32", (rows,), (1,), 4096)},
        {"stride": columns, "n_cols": columns, "eps": 1e-6, "one": 1},
        {"BLOCK_SIZE": 512, **constants},
        (rows,),
    )


def test_two_launches_become_one_statement() -> None:
    found = generalised(launch(6, 500), launch(10, 509))
    x, again = found.args["x"], found.args["again"]
    assert isinstance(x, Buffer) and isinstance(again, Buffer)
    assert x.extents[1] == "n_cols" and x.extents[0] == found.grid[0]
    assert again.same_as == "x" or x.same_as == "again"
    assert found.args["eps"] == Scalar("fp32") and found.args["one"] == Scalar(
        "i32", 1, 1
    )
    assert {"stride == n_cols", "n_cols <= 512", "one == 1"} <= set(found.assume)


def test_a_constant_that_differs_becomes_a_number() -> None:
    found = generalised(launch(6, 500, N=500), launch(10, 509, N=509))
    assert "N" not in found.constants and found.args["N"] == Scalar("i32", 1)
    assert "N == n_cols" in found.assume


def test_a_grid_that_is_the_same_is_a_quotient_or_fixed() -> None:
    first, second = (replace(launch(r, 500), grid=(4,)) for r in (6, 10))
    found = generalised(first, second)
    assert found.grid == (4,) and found.grid_is_fixed
    first, second = (replace(launch(r, 500), grid=(2,)) for r in (600, 700))
    found = generalised(first, second)
    assert found.grid == ("cdiv(x_dim0, 512)",) and not found.grid_is_fixed
    mixed = [replace(launch(r, 500), grid=(r, 4)) for r in (6, 10)]
    found = generalised(*mixed)
    assert found.grid[1] == 4 and found.notes == ["4 programs along y"]


def test_numbers_are_written_in_symbols() -> None:
    forms = Forms([64])
    forms.new("m", (100, 200))
    forms.new("n", (3, 7))
    assert forms.form((5, 5)) == 5 and forms.form((100, 200)) == "m"
    assert forms.form((300, 1400)) == "m*n"
    assert forms.form((2, 4)) == "cdiv(m, 64)"
    assert forms.form((200, 400)) == "2*m" and forms.form((11, 12)) is None


def test_other_kernels_and_types_do_not_fit() -> None:
    with pytest.raises(ArgumentError, match="one kernel"):
        generalised(
            launch(6, 500),
            replace(launch(6, 500), kernel=SimpleNamespace(__name__="other")),
        )
    other = launch(10, 509)
    half = replace(
        other, tensors={**other.tensors, "y": Tensor("fp16", (10,), (1,), 0)}
    )
    with pytest.raises(ArgumentError, match="same type of y"):
        generalised(launch(6, 500), half)


def test_launches_are_sorted_by_kernel() -> None:
    found = by_kernel([launch(6, 500), launch(10, 509), launch(6, 500, BLOCK_M=4)])
    assert len(found) == 2


def test_a_third_launch_rules_out_what_fitted_by_chance() -> None:
    two = [replace(launch(r, 500), grid=(r // 2,)) for r in (6, 10)]
    assert generalised(*two).grid == ("x_dim0//2",)
    third = replace(launch(20, 500), grid=(8,))
    found = generalised(*two, third)
    assert found.grid_is_free and found.grid == ("programs_x",)
    assert not generalised(*two).grid_is_free


def test_a_quotient_by_a_block_goes_before_a_half() -> None:
    two = [replace(launch(r, 500), grid=(g,)) for r, g in ((1200, 3), (2000, 4))]
    assert generalised(*two).grid == ("cdiv(x_dim0, 512)",)
    both = [
        replace(launch(r, c), grid=(-(-r * c // 512),))
        for r, c in ((60, 500), (100, 509), (70, 503))
    ]
    assert generalised(*both).grid == ("cdiv(x_dim0*n_cols, 512)",)


def test_launches_that_do_not_fit_are_left_out() -> None:
    other = launch(20, 480, EXTRA=1)
    types = replace(
        launch(7, 501), tensors={"x": Tensor("fp16", (7, 501), (501, 1), 64)}
    )
    block = replace(launch(30, 900), constants={"BLOCK_SIZE": 1024})
    plain = generalised(launch(6, 500), launch(10, 509))
    assert generalised(launch(6, 500), launch(10, 509), other, types, block) == plain


def test_negative_strides_are_refused() -> None:
    flipped = Tensor("fp32", (6, 500), (500, -1), 64)
    with pytest.raises(ArgumentError, match="not negative"):
        generalised(replace(launch(6, 500), tensors={"x": flipped}), launch(10, 509))


def test_a_size_is_a_multiple_of_what_is_passed_along() -> None:
    def grouped(size: int, group: int) -> Recording:
        tensor = Tensor("fp32", (size,), (1,), 64)
        scalars = {"n": size, "group": group}
        return Recording(KERNEL, {"x": tensor}, scalars, {}, (1,))

    assert "n % 3 == 0" in generalised(grouped(15, 3), grouped(21, 3)).assume
    assert "n % 4 == 0" not in generalised(grouped(16, 4), grouped(21, 4)).assume
    two = generalised(grouped(16, 5), grouped(20, 5)).assume
    assert not [text for text in two if "%" in text]
