from algebra.verdict import Proved, Unknown, Verdict
from proofs import Theorem


def test_a_theorem_hands_its_limit_to_the_check() -> None:
    seen: list[float] = []

    def check(timeout: float) -> Verdict:
        seen.append(timeout)
        return Proved("by hand")

    theorem = Theorem("one_is_one", "1 = 1", "one case", "by hand", "", check)
    assert isinstance(theorem.prove(), Proved)
    theorem.prove(2.5)
    assert seen == [60.0, 2.5]
    assert "check" not in repr(theorem)
    assert theorem.instances == 0


def test_an_unknown_stays_unknown() -> None:
    theorem = Theorem("x", "", "", "", "", lambda timeout: Unknown("time-out"))
    assert theorem.prove() == Unknown("time-out")
