from algebra.verdict import Proved, Refuted
from verify.oracle import Wheel
from verify.ptx.campaign import judge
from verify.ptx.miscompiled import MISCOMPILED, Miscompiled


def verdicts(wheel: Wheel) -> list[tuple[Miscompiled, object]]:
    outcomes = judge(wheel, [case.conversion for case in MISCOMPILED])
    return [
        (case, outcome.verdict)
        for case, outcome in zip(MISCOMPILED, outcomes, strict=True)
    ]


def test_the_installed_wheel(wheel: Wheel) -> None:
    for case, verdict in verdicts(wheel):
        if wheel.version in case.releases:
            assert isinstance(verdict, Refuted)
            assert verdict.counterexample.kind == "wrong element"
        if wheel.version in case.right_in:
            assert isinstance(verdict, Proved)


def test_the_smallest_case(wheel: Wheel) -> None:
    case, verdict = verdicts(wheel)[0]
    if wheel.version in case.releases:
        assert isinstance(verdict, Refuted)
        fault = verdict.counterexample
        assert (fault.thread, fault.expected, fault.actual) == (
            0,
            "byte 0 of element 2",
            "byte 0 of element 1",
        )
