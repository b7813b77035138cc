import pytest

from tilewright.cli.theorem_table import certificate, print_table, solver_times

LONG = "a_theorem_" * 9
RECORD = {
    "name": LONG,
    "verdict": "proved",
    "scope": "all",
    "method": "z3",
    "seconds": 1.0,
}


def test_times_of_solvers_stand_side_by_side() -> None:
    both = {"z3_seconds": 0.25, "bitwuzla_seconds": 0.5, "script_seconds": 3.0}
    assert solver_times({"facts": both}) == "z3 0.25 s = bitwuzla 0.50 s"
    assert solver_times({"facts": {"z3_seconds": 1.0}}) == "z3 1.00 s"
    assert solver_times({}) == ""


def test_columns_in_which_nothing_stands_are_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table([RECORD], 1)
    out = capsys.readouterr().out
    assert out.split("\n")[0].split() == [
        *("theorem", "verdict", "scope", "method", "time")
    ]
    assert LONG in out
    facts = {"z3_seconds": 1.0, "bitwuzla_seconds": 2.0, "certificate": "checked"}
    print_table([RECORD, {**RECORD, "facts": facts}], 3)
    out = capsys.readouterr().out
    assert "solvers agree" in out
    assert "certificate" in out
    assert out.endswith("2 of 3 proved\n")


def test_a_narrow_terminal_shows_no_details(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    print_table([{**RECORD, "name": "short"}], 1)
    lines = capsys.readouterr().out.splitlines()
    assert "scope" not in lines[0]
    assert lines[-1] == "1 of 1 proved"
    assert len(lines) == 3


def test_why_there_is_no_certificate_stands_below(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reason = "cadical is needed " * 20
    print_table([{**RECORD, "facts": {"certificate": f"none: {reason}"}}], 1)
    assert f"{LONG}: no certificate: {reason}" in capsys.readouterr().out
    assert certificate({"facts": {"remembered": True}}) == ("remembered", "")
