import json
from collections.abc import Callable
from typing import Any

from algebra.encodings import DotOperand, NvidiaMma

Command = Callable[..., Any]
P = NvidiaMma(version=(3, 0), warps_per_cta=(4, 1), instr_shape=(16, 64, 16))
A = DotOperand(op_idx=0, parent=P, k_width=4)


def test_words(command: Command) -> None:
    answer = command("explain", repr(P), repr(A), "--shape", "64x64")
    assert answer.code == 0
    assert answer.out.startswith(f"from {P!r}\nto   {A!r}\nshape 64x64\n\nwithin warp")
    assert "  dim1 +2: lane bit 0 -> register bit 1\n" in answer.out


def test_json(command: Command) -> None:
    answer = command("explain", repr(P), repr(A), "--shape", "64x64", "--json")
    facts = json.loads(answer.out)
    assert facts["movement"] == "within warp"
    assert facts["exchanges"] == 1
    assert facts["unread"] == []
    assert {
        "to": ["register", 1],
        "sources": [["lane", 0]],
        "element": {"dim1": 2},
        "stays": False,
    } in facts["moves"]
    assert facts["text"].startswith("within warp")


def test_the_plan_for_a_width(command: Command) -> None:
    words = ["explain", repr(P), repr(A), "--shape", "64x64", "--bits", "8"]
    answer = command(*words)
    assert answer.code == 0
    assert "shuffles needed at least: 8 (reached)" in answer.out
    assert answer.out.endswith("verdict: Proved\n")
    facts = json.loads(command(*words, "--target", "sm_80", "--json").out)["plan"]
    assert facts["way"] == "select, shuffle, select"
    assert facts["counts"]["shfl"] == 8
    assert facts["verdict"] == "Proved"


def test_widths_and_targets_without_a_plan(command: Command) -> None:
    targets = (["--bits", "8", "--target", "sm_1"], ["--target", "sm_1"])
    for extra in (["--bits", "12"], *targets):
        answer = command("explain", repr(P), repr(A), "--shape", "64x64", *extra)
        assert answer.code == 2
