"""Whole layouts that Triton's tests assert, or that its release 3.8.0 computes."""

import json
from pathlib import Path
from typing import Any

import pytest

from algebra import LinearLayout
from algebra.encodings import from_dict, to_dict

GOLDEN = Path(__file__).parents[3].parent / "shared" / "golden"


def cases(name: str) -> list[Any]:
    path = GOLDEN / f"{name}.json"
    if not path.exists():
        return []
    return list(json.loads(path.read_text())["cases"])


def golden(name: str) -> list[Any]:
    found = cases(name)
    if not found:
        pytest.skip(f"no golden data in {GOLDEN}")
    return found


def plain(layout: LinearLayout) -> dict[str, Any]:
    return {
        "in_dims": {
            name: [list(vector) for vector in vectors]
            for name, vectors in layout.bases.items()
        },
        "in_order": list(layout.in_names),
        "out_dims": [[name, size] for name, size in layout.out_dims.items()],
    }


def differences(case: Any, release: str, expected: Any) -> list[str]:
    encoding = from_dict(case["encoding"])
    assert from_dict(to_dict(encoding)) == encoding
    layout = encoding.to_linear_layout(
        case["shape"], release, case.get("alloc_shape"), case.get("elem_bits")
    )
    got = plain(layout)
    if "block" not in expected["in_order"] and not got["in_dims"].get("block"):
        # The wheel prints tensor memory without its empty block dim.
        got["in_dims"].pop("block", None)
        got["in_order"] = [name for name in got["in_order"] if name != "block"]
    return [] if got == expected else [f"{case['case']} in {release}: {got}"]


@pytest.mark.parametrize("name", ["layout_conversions", "derived_layout_conversions"])
def test_layouts_of_release_3_8(name: str) -> None:
    wrong = []
    for case in golden(name):
        wrong += differences(case, "3.8", case["expected"])
    assert wrong == []


def test_layouts_that_release_3_9_changed() -> None:
    changed = [
        case
        for case in golden("derived_layout_conversions")
        if "expected_3.9.0" in case
    ]
    assert changed
    wrong = []
    for case in changed:
        wrong += differences(case, "3.9", case["expected_3.9.0"])
    assert wrong == []


def test_layouts_that_release_3_9_did_not_change() -> None:
    wrong = []
    for case in golden("derived_layout_conversions"):
        if "expected_3.9.0" not in case and "3.9.0" in case["libtriton"]:
            wrong += differences(case, "3.9", case["expected"])
    for case in golden("layout_conversions"):
        if "libtriton-3.9.0" in case["confirmed_by"]:
            wrong += differences(case, "3.9", case["expected"])
    assert wrong == []


def test_layouts_of_release_3_6() -> None:
    wrong = []
    for case in golden("derived_layout_conversions"):
        if "3.6.0" in case["libtriton"]:
            wrong += differences(case, "3.6", case["expected"])
    for case in golden("layout_conversions"):
        if "libtriton-3.6.0" in case["confirmed_by"]:
            wrong += differences(case, "3.6", case["expected"])
    assert wrong == []


def test_properties() -> None:
    for case in golden("layout_properties"):
        layout = from_dict(case["encoding"]).to_linear_layout(case["shape"], "3.8")
        asserted = case["asserted"]
        assert layout.is_injective == asserted["is_injective"], case["case"]
        assert layout.get_in_dim_size("register") == asserted["register_size"]
        assert plain(layout) == case["linear"]
