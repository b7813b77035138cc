"""Every operation that Triton's own unit tests evaluate, against their values."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import algebra
from algebra import ColumnAction, LinearLayout

GOLDEN = Path(__file__).parents[3] / "shared" / "golden"
Case = dict[str, Any]


def cases(name: str) -> list[Case]:
    path = GOLDEN / name
    if not path.exists():
        return []
    found: list[Case] = json.loads(path.read_text())["cases"]
    return found


def layout(value: Any) -> Any:
    """Read the golden form of a layout; anything else stays."""
    if isinstance(value, dict) and "in_order" in value:
        bases = {name: value["in_dims"][name] for name in value["in_order"]}
        return LinearLayout.from_bases(bases, dict(value["out_dims"]), False)
    if isinstance(value, dict) and "action" in value:
        return ColumnAction(value["action"], value["dim"], value["in_size_log2"])
    return value


PROPERTIES = {"is_surjective", "is_injective", "is_invertible"}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "product": lambda a, b: a * b,
    "to_string": lambda a: "\n" + str(a),
    "apply": lambda a, point: [list(kv) for kv in a.apply(dict(point)).items()],
    "get_free_variable_masks": lambda a: [
        list(kv) for kv in a.get_free_variable_masks().items()
    ],
    "reshape_ins": lambda a, dims: a.reshape_ins(dict(dims)),
    "reshape_outs": lambda a, dims: a.reshape_outs(dict(dims)),
    "ensure_layout_not_smaller_than": lambda a, s: (
        algebra.ensure_layout_not_smaller_than(a, dict(s))
    ),
    "ensure_layout_not_larger_than": lambda a, s, *rest: (
        algebra.ensure_layout_not_larger_than(a, dict(s), *rest)
    ),
    "supremum": lambda a, b: list(algebra.supremum(a, b)),
    "column_action_apply": lambda a, b: a.apply(b),
    "column_action_apply_values": lambda a, values: a.apply_values(values),
    "rename_linear_layout_dims": lambda a, ins, outs: algebra.rename_linear_layout_dims(
        a, dict(ins), dict(outs)
    ),
    "remove_broadcasted_regs": lambda a: algebra.action_remove_broadcasted_regs(
        a
    ).apply(a),
}


def evaluate(case: Case) -> Any:
    arguments = [layout(value) for value in case["inputs"]]
    name = case["op"]
    if name in PROPERTIES:
        return getattr(arguments[0], name)
    if name in FUNCTIONS:
        return FUNCTIONS[name](*arguments)
    if hasattr(LinearLayout, name):
        return getattr(arguments[0], name)(*arguments[1:])
    return getattr(algebra, name)(*arguments)


def plain(value: Any) -> Any:
    """Turn tuples into lists as JSON has them."""
    return (
        [plain(item) for item in value] if isinstance(value, (tuple, list)) else value
    )


@pytest.mark.parametrize("name", ["algebra.json", "derived_algebra.json"])
def test_every_operation_agrees(name: str) -> None:
    found = cases(name)
    if not found:
        pytest.skip(f"{GOLDEN / name} is not on this machine")
    wrong = []
    for case in found:
        expected = layout(case["expected"])
        if isinstance(expected, list):
            expected = [layout(item) for item in expected]
        result = plain(evaluate(case))
        if result != expected:
            wrong.append((case["case"], case["op"], result, expected))
    assert not wrong, wrong[:3]
    assert len(found) > 290
