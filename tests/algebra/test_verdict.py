import pytest

from algebra import Proved, Refuted, Unknown


@pytest.mark.parametrize("verdict", [Proved("z3"), Refuted({"x": 1}), Unknown("why")])
def test_a_verdict_has_no_truth_value(verdict: object) -> None:
    with pytest.raises(TypeError, match="isinstance"):
        bool(verdict)


def test_verdicts_are_values() -> None:
    assert Proved("z3") == Proved("z3") != Proved("bitwuzla")
    assert Refuted(3).counterexample == 3
    assert Unknown("time-out after 1 s").reason == "time-out after 1 s"
    assert len({Unknown("a"), Unknown("a"), Proved()}) == 2
