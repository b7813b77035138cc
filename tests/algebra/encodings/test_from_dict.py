"""Dictionaries: what is missing, unknown, or of an unknown kind."""

from typing import Any

import pytest

from algebra.encodings import Slice, from_dict, to_dict
from algebra.errors import EncodingError

BLOCKED: dict[str, Any] = {
    "kind": "blocked",
    "size_per_thread": [1, 1],
    "threads_per_warp": [4, 8],
    "warps_per_cta": [1, 1],
    "order": [1, 0],
}


def test_parents_are_dictionaries_in_turn() -> None:
    encoding = from_dict({"kind": "slice", "dim": 1, "parent": BLOCKED})
    assert isinstance(encoding, Slice)
    assert to_dict(encoding)["parent"] == {**BLOCKED, "cga": {"bases": []}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "round"}, "kind='round'"),
        ({}, "kind=None"),
        ("blocked", "kind=None"),
        ({**BLOCKED, "axis": 0}, r"got also \['axis'\]"),
        (
            {"kind": "blocked", "order": [0]},
            "needs the parameters",
        ),
        ({"kind": "slice", "dim": 0, "parent": {"kind": "x"}}, "kind='x'"),
        ({**BLOCKED, "cga": {"basis": []}}, r"cga has the parameters"),
        ({"kind": "amd_wmma", "version": 1, "color": 2}, r"got also \['color'\]"),
        ({"kind": "amd_wmma", "version": 1}, "is_transposed', 'warps_per_cta"),
        ({"kind": "mfma_scale", "cga": {}}, r"got also \['cga'\]"),
        ({**BLOCKED, "cga": 1}, "cga needs a dictionary"),
        ({"kind": "wmma_scale", "op_idx": 0, "cta_layout": {"lane": []}}, "lane"),
    ],
)
def test_what_does_not_describe_an_encoding(given: Any, message: str) -> None:
    with pytest.raises(EncodingError, match=message):
        from_dict(given)
