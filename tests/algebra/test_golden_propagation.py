"""Propagation agrees with what Triton infers: golden cases of its tests and wheels.

The encoding's name must agree too, where Triton's is not that of Gluon's own slice
after a split.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from algebra import LinearLayout
from algebra.encodings import Encoding, from_dict
from algebra.propagate import (
    infer_expand_dims,
    infer_join,
    infer_reshape,
    infer_split,
    infer_trans,
    join,
    reshape,
    split,
    trans,
)

GOLDEN = Path(__file__).parents[3] / "shared" / "golden"
CLASSES = {
    "amd_mfma": "AMDMFMALayout",
    "amd_wmma": "AMDWMMALayout",
    "blocked": "BlockedLayout",
    "dot_operand": "DotOperandLayout",
    "linear": "DistributedLinearLayout",
    "nvidia_mma": "NVMMADistributedLayout",
    "slice": "SliceLayout",
}


def cases(name: str) -> list[dict[str, Any]]:
    path = GOLDEN / name
    if not path.is_file():
        pytest.skip(f"the golden file {name} is not here")
    found: list[dict[str, Any]] = json.loads(path.read_text())["cases"]
    return found


def to_layout(golden: dict[str, Any]) -> LinearLayout:
    bases = {in_dim: golden["in_dims"][in_dim] for in_dim in golden["in_order"]}
    return LinearLayout.from_bases(bases, dict(golden["out_dims"]), False)


def infer(case: dict[str, Any], encoding: Encoding, release: str) -> Encoding:
    shape, argument = case["src_shape"], case["arg"]
    match case["op"]:
        case "trans":
            return infer_trans(encoding, shape, argument, release)
        case "reshape":
            return infer_reshape(encoding, shape, argument, release)
        case "join":
            return infer_join(encoding, shape, release)
        case "split":
            return infer_split(encoding, shape, release)
        case _:
            return infer_expand_dims(encoding, argument)


@pytest.mark.parametrize("release", ["3.6", "3.8", "3.9"])
def test_inferred_encodings(release: str) -> None:
    checked = 0
    for case in cases("derived_propagation.json"):
        key = f"expected_linear_{release}.0"
        if key not in case:
            key = "expected_linear"
            if f"{release}.0" not in case["libtriton"]:
                continue
        result = infer(case, from_dict(case["encoding"]), release)
        layout = result.to_linear_layout(case["dst_shape"], release)
        assert layout == to_layout(case[key]), case["case"]
        if case["op"] != "split" and release == "3.8":
            assert CLASSES[result.kind] == case["result_class"], case["case"]
        checked += 1
    assert checked == 496


def test_inferred_layouts() -> None:
    operations: dict[str, Callable[[LinearLayout, Any], LinearLayout]] = {
        "trans": trans,
        "reshape": reshape,
        "join": lambda layout, _: join(layout),
        "split": lambda layout, _: split(layout),
    }
    checked = 0
    for case in cases("derived_propagation.json"):
        if case["op"] in operations:
            moved = operations[case["op"]](to_layout(case["src_linear"]), case["arg"])
            assert moved == to_layout(case["expected_linear"]), case["case"]
            checked += 1
    assert checked == 436


def test_reshapes() -> None:
    checked = 0
    for case in cases("reshape_inference.json"):
        source = from_dict(case["src_encoding"])
        result = infer_reshape(source, case["src_shape"], case["dst_shape"], "3.8")
        expected = case["expected_dst_encoding"]
        if expected is not None:
            assert result == from_dict(expected), case["case"]
        layout = result.to_linear_layout(case["dst_shape"], "3.8")
        assert layout == to_layout(case["inferred_linear"]), case["case"]
        assert CLASSES[result.kind] == case["inferred_layout_class"], case["case"]
        checked += 1
    assert checked == 20
