import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import LinearLayout
from compiler import permutations
from tilewright.cli.failures import InputError
from tilewright.cli.index_maps import NAMED, read_index_map

GIVEN: dict[str, tuple[str, tuple[int, ...], Any]] = {
    "rows and columns of the array": (
        "marlin_weight",
        (16, 64),
        permutations.marlin_weight(16, 64),
    ),
    "an image of the batch": (
        "nchw_to_nhwc",
        (3, 4, 8, 2),
        permutations.nchw_to_nhwc(4, 8, 2),
    ),
    "channels come last": (
        "nhwc_to_nchw",
        (3, 8, 2, 4),
        permutations.nhwc_to_nchw(4, 8, 2),
    ),
    "bits of the size": ("bit_reversal", (4, 8), permutations.bit_reversal(5)),
    "a size": ("rotate90", (8, 8), permutations.rotate90(8)),
    "no size": ("awq_order", (8,), permutations.awq_order()),
    "no size in brackets": ("awq_order()", (8,), permutations.awq_order()),
    "one size": ("gray(3)", (8,), permutations.gray(3)),
    "two sizes": (" morton (2, 4) ", (8,), permutations.morton(2, 4)),
    "axes": (
        "permute_axes((2, 4), (1, 0))",
        (8,),
        permutations.permute_axes((2, 4), (1, 0)),
    ),
    "images": ("[4, 1, 2]", (8,), permutations.from_columns([4, 1, 2])),
}


@pytest.mark.parametrize(("text", "shape", "expected"), GIVEN.values(), ids=GIVEN)
def test_spellings(text: str, shape: tuple[int, ...], expected: Any) -> None:
    assert read_index_map(text, shape) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "2,",
        "2,a",
        "transpose(2)",
        "transpose(2, 'a')",
        "transpose(2, 4",
        "transpose(__import__('os'), 4)",
        "permute_axes",
        "pixel_shuffle",
        "transpose",
        "{'index': 7}",
        "{'index': [[1], [2, 3]]}",
        "{'index':",
        "{}",
        "{1, 2}",
        "9" * 5000,
    ],
)
def test_what_is_no_map(text: str) -> None:
    with pytest.raises(InputError):
        read_index_map(text, (8,))


@given(st.permutations(range(5)))
def test_bases_are_images(order: list[int]) -> None:
    images = [1 << place for place in order]
    text = str({"index": [[image] for image in images]})
    by_images = read_index_map(",".join(map(str, images)), (32,))
    by_bases = read_index_map(text, (32,))
    assert isinstance(by_bases, LinearLayout)
    assert isinstance(by_images, LinearLayout)
    assert by_bases.columns == by_images.columns


def test_every_public_permutation_has_a_name() -> None:
    public = {
        name
        for name, value in inspect.getmembers(permutations, inspect.isfunction)
        if value.__module__ == permutations.__name__ and not name.startswith("_")
    }
    plumbing = {"from_columns", "from_gather"}
    assert set(NAMED) <= public
    assert public - plumbing - set(NAMED) <= {"channels_last"}


def test_a_rotation_without_a_size_needs_a_square() -> None:
    with pytest.raises(InputError, match=r"rotate90 needs a square.*\(8, 4\)"):
        read_index_map("rotate90", (8, 4))
    assert read_index_map("rotate90(4)", (8, 4)) == permutations.rotate90(4)
