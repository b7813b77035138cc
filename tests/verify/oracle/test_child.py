from random import Random
from typing import Any

import pytest

from verify.oracle import Wheel, random_case
from verify.oracle.random_operations import OPERATIONS, random_operation

KNOWN = (
    "blocked",
    "slice",
    "dot_operand",
    "nvidia_mma",
    "amd_mfma",
    "amd_wmma",
    "linear",
)


def ask(wheel: Wheel, *job: Any) -> dict[str, Any]:
    return next(wheel.ask([list(job)]))


@pytest.mark.parametrize("kind", KNOWN)
def test_the_wheel_knows_the_kind(wheel: Wheel, kind: str) -> None:
    case = random_case(Random(8), kind)
    answer = ask(wheel, "encoding", case.encoding, list(case.shape))
    assert {"register", "lane", "warp", "block"} == set(answer["value"])


def test_a_row_of_lanes(wheel: Wheel) -> None:
    encoding = {
        "kind": "blocked",
        "size_per_thread": [1],
        "threads_per_warp": [32],
        "warps_per_cta": [1],
        "order": [0],
    }
    answer = ask(wheel, "encoding", encoding, [32])
    assert answer["value"]["lane"] == [[1], [2], [4], [8], [16]]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_wheel_knows_the_operation(wheel: Wheel, operation: str) -> None:
    chosen = random_operation(Random(4), operation)
    assert "value" in ask(wheel, "algebra", operation, list(chosen.arguments))


def test_unknown_kinds_and_operations_are_answers(wheel: Wheel) -> None:
    assert "no constructor" in ask(wheel, "encoding", {"kind": "x"}, [1])["not_exposed"]
    layout = {"bases": [["lane", []]], "out_dims": [["dim0", 1]], "surjective": True}
    answer = ask(wheel, "algebra", "transpose", [layout])
    assert answer["error"].startswith("AttributeError")
