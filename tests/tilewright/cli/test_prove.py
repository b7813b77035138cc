import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import proofs
from algebra.encodings import Blocked
from algebra.verdict import Proved, Refuted, Unknown, Verdict
from proofs import Theorem

Command = Callable[..., Any]
BLOCKED = Blocked(
    size_per_thread=(1, 2), threads_per_warp=(4, 8), warps_per_cta=(1, 1), order=(1, 0)
)


def theorem(name: str, answer: Verdict | BaseException) -> Theorem:
    def check(timeout: float) -> Verdict:
        if isinstance(answer, BaseException):
            raise answer
        asked.append((name, timeout))
        return answer

    return Theorem(name, f"{name} holds", "all sizes", "paper", "nowhere", check)


asked: list[tuple[str, float]] = []
GOOD = theorem("one_is_one", Proved("z3"))
ALSO = theorem("two_is_two", Proved())
FALSE = theorem("one_is_two", Refuted({"x": 1}))
OPEN = theorem("p_is_np", Unknown("time-out\nafter 1 s"))
STOP = theorem("halts", KeyboardInterrupt())


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def install(*theorems: Theorem) -> None:
        asked.clear()
        monkeypatch.setattr(proofs, "catalogue", lambda: list(theorems))

    return install


def test_all_is_proved(command: Command, catalogue: Callable[..., None]) -> None:
    catalogue(GOOD, ALSO)
    answer = command("prove", "--timeout", "2.5")
    assert answer.code == 0
    assert asked == [("one_is_one", 2.5), ("two_is_two", 2.5)]
    lines = [line.split() for line in answer.out.splitlines()]
    assert lines[0][:4] == ["theorem", "verdict", "scope", "method"]
    assert lines[1][:5] == ["one_is_one", "proved", "all", "sizes", "z3"]
    assert lines[2][:5] == ["two_is_two", "proved", "all", "sizes", "paper"]
    assert answer.out.endswith("2 of 2 proved\n")


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (FALSE, "one_is_two: counterexample: {'x': 1}"),
        (OPEN, "p_is_np: reason: time-out after 1 s"),
    ],
)
def test_anything_else_is_wrong(
    command: Command, catalogue: Callable[..., None], bad: Theorem, said: str
) -> None:
    catalogue(GOOD, bad)
    answer = command("prove")
    assert answer.code == 1
    assert said in answer.out
    assert "1 of 2 proved" in answer.out


def test_json_and_nothing_else(
    command: Command, catalogue: Callable[..., None]
) -> None:
    catalogue(GOOD, FALSE, OPEN)
    answer = command("prove", "--json")
    assert answer.code == 1
    assert answer.err == ""
    assert answer.out.count("\n") == 1
    records = json.loads(answer.out)["theorems"]
    assert [record["name"] for record in records] == [
        *("one_is_one", "one_is_two", "p_is_np")
    ]
    assert [r["verdict"] for r in records] == ["proved", "refuted", "unknown"]
    assert [r["method"] for r in records] == ["z3", "paper", "paper"]
    assert records[1]["counterexample"] == "{'x': 1}"
    assert records[2]["reason"] == "time-out after 1 s"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["two_is_two"], ["two_is_two"]),
        (["two_is_two", "one_is_one"], ["one_is_one", "two_is_two"]),
        (["--only", "two_is"], ["two_is_two"]),
        (["--only", "*_is_one"], ["one_is_one"]),
    ],
)
def test_a_choice_comes_in_the_order_of_the_catalogue(
    command: Command,
    catalogue: Callable[..., None],
    words: list[str],
    names: list[str],
) -> None:
    catalogue(GOOD, ALSO)
    assert command("prove", *words).code == 0
    assert [name for name, _ in asked] == names


def test_a_near_name_is_offered(
    command: Command, catalogue: Callable[..., None]
) -> None:
    catalogue(GOOD, ALSO)
    answer = command("prove", "one_is_1")
    assert answer.code == 2
    assert "the nearest is 'one_is_one'" in answer.err


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_an_interrupt_shows_what_is_done(
    command: Command, catalogue: Callable[..., None], words: list[str]
) -> None:
    catalogue(GOOD, STOP, ALSO)
    answer = command("prove", *words)
    assert answer.code == 130
    assert "one_is_one" in answer.out
    assert "two_is_two" not in answer.out
    if words:
        assert json.loads(answer.out)["interrupted"] is True
    else:
        assert "1 of 3 proved" in answer.out


def test_resume_skips_what_is_proved(
    command: Command, catalogue: Callable[..., None], tmp_path: Path
) -> None:
    notes = tmp_path / "notes.jsonl"
    catalogue(GOOD, FALSE, STOP)
    assert command("prove", "--resume", notes).code == 130
    catalogue(GOOD, FALSE, ALSO)
    assert command("prove", "--resume", notes).code == 1
    assert [name for name, _ in asked] == ["one_is_two", "two_is_two"]
    answer = command("prove", "--resume", tmp_path / "no" / "where")
    assert answer.code == 2
    assert "cannot write" in answer.err


def test_an_encoding(command: Command) -> None:
    answer = command("prove", repr(BLOCKED), "--shape", "4x16", "--json")
    assert answer.code == 0
    (record,) = json.loads(answer.out)["theorems"]
    assert record["name"] == "blocked_equals_its_index_formula"
    assert record["verdict"] == "proved"
    assert record["scope"] == "shape 4x16"


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (Refuted({"register": 1}), "counterexample: {'register': 1}"),
        (Unknown("no formula"), "reason: no formula"),
    ],
)
def test_an_encoding_that_is_not_proved(
    command: Command, monkeypatch: pytest.MonkeyPatch, verdict: Verdict, said: str
) -> None:
    monkeypatch.setattr("verify.prove_encoding", lambda *_, **__: verdict)
    answer = command("prove", repr(BLOCKED), "--shape", "4x16")
    assert answer.code == 1
    assert said in answer.out


def test_a_check_that_breaks_is_unknown_and_the_others_run(
    command: Command, catalogue: Callable[..., None]
) -> None:
    catalogue(GOOD, theorem("breaks", OSError(28, "No space left")), ALSO)
    answer = command("prove")
    assert answer.code == 1
    assert "breaks: reason: the check broke: OSError: [Errno 28] No" in answer.out
    assert "2 of 3 proved" in answer.out
    assert answer.err == ""


def test_names_without_checks(command: Command, catalogue: Callable[..., None]) -> None:
    catalogue(GOOD, FALSE)
    assert command("prove", "--list").out == "one_is_one\none_is_two\n"
    records = json.loads(command("prove", "--list", "--json").out)["theorems"]
    assert records[1] == {"name": "one_is_two", "statement": "one_is_two holds"}
    assert asked == []
