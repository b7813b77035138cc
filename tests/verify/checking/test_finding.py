from algebra.verdict import Proved, Refuted, Unknown
from verify.checking.finding import Counterexample, Finding, combined


def finding(verdict: object) -> Finding:
    return Finding("in_bounds", "a text", "k.py:1:1", verdict)  # type: ignore[arg-type]


def test_one_refutation_refutes_and_one_unknown_leaves_open() -> None:
    good, bad, open_ = finding(Proved()), finding(Refuted(1)), finding(Unknown("why"))
    assert combined([good, open_, bad]) == Refuted(1)
    assert combined([good, open_]) == Unknown("why")
    assert isinstance(combined([good, good]), Proved)


def test_a_counterexample_reads_as_a_launch() -> None:
    text = str(
        Counterexample(
            "load of x is in bounds", "k.py:3:1", {"n": 3}, (1, 1, 1), [{"x": 0}],
            {"lane0": 3}, {"index": {0: 7}}, {"offset": 3}, "run",
        )
    )  # fmt: skip
    for piece in (
        "k.py:3:1",
        "n=3",
        "grid: (1, 1, 1)",
        "lane0=3",
        "index[0] = 7",
        "run",
    ):
        assert piece in text
