import json

import pytest

from algebra.verdict import Proved, Refuted, Unknown
from verify.checking.finding import Counterexample
from verify.checking.report import (
    OBLIGATIONS,
    Report,
    verdict_name,
    verdict_record,
)

EXAMPLE = Counterexample(
    "s", "k.py:1:1", {"n": 1}, (1, 1, 1), [{"x": 0}], {}, confirmed="run"
)


def test_the_verdict_for_all() -> None:
    assert isinstance(Report("k", {"a": Proved()}).verdict, Proved)
    open_ = Report("k", {"a": Unknown("why"), "b": Proved()})
    assert open_.verdict == Unknown("why")
    assert isinstance(
        Report("k", {"a": Unknown("w"), "b": Refuted(1)}).verdict, Refuted
    )


def test_an_obligation_that_was_not_checked_is_an_error() -> None:
    with pytest.raises(KeyError, match="'reference' was not checked"):
        Report("k", {"in_bounds": Proved()})["reference"]
    assert "reference" in OBLIGATIONS


def test_it_reads_and_serialises() -> None:
    report = Report(
        "k",
        {"in_bounds": Refuted(EXAMPLE), "no_wrap": Unknown("why"), "x": Proved()},
        precondition="n < 3",
        assumptions=("m == n",),
        notes=("a note",),
    )
    text = str(report)
    for piece in (
        "k: refuted",
        "why",
        "right where: n < 3",
        "assumed: m == n",
        "a note",
    ):
        assert piece in text
    record = json.loads(json.dumps(report.as_record()))
    assert record["verdict"] == "refuted" and record["precondition"] == "n < 3"
    assert record["obligations"]["in_bounds"]["counterexample"]["confirmed"] == "run"
    assert verdict_name(Proved()) == "proved"
    assert verdict_record(Refuted(3))["counterexample"] == "3"
