import os
import stat
import sys
from pathlib import Path

import pytest

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from compiler.runtime.cache import cache_directory
from proofs.coq import Script, build, read_scripts
from proofs.coq.build import Coq, find_coq
from proofs.coq.source import read_script

TRUE = """
(** Law of [algebra.bits.parity]. *)
Theorem {name} (n : nat) : n + 0 = n.
Proof. now rewrite <- plus_n_O. Qed.
"""
FALSE = """
(** Law of [algebra.bits.parity]. *)
Theorem {name} (n : nat) : n + 1 = n.
Proof. now rewrite <- plus_n_O. Qed.
"""
module = sys.modules["proofs.coq.build"]
needs_coq = pytest.mark.skipif(
    isinstance(find_coq(), Unknown), reason="coqc and mathcomp are not installed"
)


@pytest.fixture(autouse=True)
def own_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path_factory.mktemp("cache")))


def script(text: str, name: str = "one") -> Script:
    return read_script(name, text.format(name=f"theorem_of_{name}"))


def only(verdicts: dict[str, Verdict]) -> Verdict:
    (verdict,) = verdicts.values()
    return verdict


def test_without_coq_nothing_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    verdict = only(build([script(TRUE)]))
    assert isinstance(verdict, Unknown)
    assert "apt-get install coq libcoq-mathcomp-algebra" in verdict.reason


@pytest.mark.parametrize(
    ("answer", "missing"),
    [("echo 8.16.1", "mathcomp"), ("exit 3", "does not run"), ("true", "does not run")],
)
def test_half_an_installation_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: str, missing: str
) -> None:
    program = tmp_path / "coqc"
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("COQPATH", raising=False)
    verdict = only(build([script(TRUE)]))
    assert isinstance(verdict, Unknown)
    assert missing in verdict.reason


def test_nothing_to_prove() -> None:
    assert build([]) == {}


@needs_coq
@pytest.mark.slow
def test_a_true_theorem_is_proved_and_remembered() -> None:
    told: list[str] = []
    first = only(build([script(TRUE)], progress=told.append))
    assert isinstance(first, Proved)
    assert dict(first.facts)["axioms"] == 0
    assert dict(first.facts)["rechecked_by"] == "coqchk"
    assert told[0].startswith("one.v: 1 of 1 proved")
    again = only(build([script(TRUE)], progress=told.append))
    assert isinstance(again, Proved)
    assert dict(again.facts)["remembered"] is True
    assert len(told) == 1
    fresh = only(build([script(TRUE)], fresh=True, progress=told.append))
    assert isinstance(fresh, Proved) and len(told) == 2


@needs_coq
@pytest.mark.slow
def test_a_false_theorem_is_never_proved_nor_remembered() -> None:
    for _ in range(2):
        verdict = only(build([script(FALSE)]))
        assert isinstance(verdict, Unknown)
        assert verdict.reason.startswith("Coq rejects one.v")


@needs_coq
@pytest.mark.slow
def test_an_axiom_is_detected_behind_its_word() -> None:
    """A section variable that is declared outside of a section is an axiom."""
    text = f"""
Variable every_number_is_zero : forall n : nat, n = 0.
(** Law of [algebra.bits.parity]. *)
Theorem uses_it : 1 = 0.
Proof. apply every_number_is_zero. Qed.
{TRUE.format(name="does_not")}"""
    verdicts = build([read_script("one", text)])
    bad, good = verdicts["uses_it"], verdicts["does_not"]
    assert isinstance(bad, Refuted)
    assert "every_number_is_zero" in bad.counterexample["axioms"]
    assert isinstance(good, Proved)


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("words", ["Axiom a : 1 = 2.", "Lemma b : 1 = 2. Admitted."])
def test_forbidden_words_refute_the_script(words: str) -> None:
    verdict = only(build([script(f"{words}\n{TRUE}")]))
    assert isinstance(verdict, Refuted)
    assert "one.v, line 1" in verdict.counterexample["unproved"]


@needs_coq
@pytest.mark.slow
def test_a_broken_script_breaks_those_on_it_and_no_others() -> None:
    on_it = script(f"From tilewright Require Import one.\n{TRUE}", "two")
    verdicts = build([script(FALSE), on_it, script(TRUE, "three")])
    assert isinstance(verdicts["theorem_of_one"], Unknown)
    two = verdicts["theorem_of_two"]
    assert isinstance(two, Unknown) and "builds on one.v" in two.reason
    assert isinstance(verdicts["theorem_of_three"], Proved)


@needs_coq
@pytest.mark.slow
def test_a_time_out_is_unknown() -> None:
    verdict = only(build([script(TRUE)], timeout=0.01))
    assert isinstance(verdict, Unknown)
    assert verdict.reason == "time-out: one.v took over 0.01 s"


@needs_coq
@pytest.mark.slow
def test_what_the_second_checker_rejects_is_unknown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "coqchk"
    program.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    verdict = only(build([script(TRUE)]))
    assert verdict == Unknown("coqchk rejects the proofs: no")


@needs_coq
@pytest.mark.slow
def test_a_changed_statement_is_rejected() -> None:
    """Mutants of real scripts: a wrong exponent, a lost hypothesis, a wrong side."""
    mutants = {
        "bits": ("x / 2 ^ k = N.shiftr x k", "x / 2 ^ k = N.shiftr x (k + 1)"),
        "padded": ("proper pairs -> i < j ->", "proper pairs -> i <= j ->"),
        "swizzle": ("q = 0 \\/ v + q <= columns", "v + m <= columns"),
        "blocked": ("digit size (x i) d + 2 ^ size d *", "digit size (x i) d + 2 *"),
        "expm": ("x.1 *m y.2 + x.2 *m y.1", "x.1 *m y.2 + y.1 *m x.2"),
    }
    for original in read_scripts():
        if original.name not in mutants:
            continue
        before, after = mutants[original.name]
        assert before in original.text
        mutant = read_script(original.name, original.text.replace(before, after))
        verdicts = build([mutant])
        assert all(isinstance(v, Unknown) for v in verdicts.values()), original.name


@needs_coq
@pytest.mark.slow
def test_every_theorem_is_proved_without_axioms() -> None:
    verdicts = build(read_scripts(), fresh=True)
    gaps = {n: v for n, v in verdicts.items() if not isinstance(v, Proved)}
    assert len(verdicts) >= 30 and not gaps


@pytest.mark.parametrize(
    "damaged",
    ["", "{", "[]", "{}", '{"other": []}', '{"theorem_of_one": 1}', "\ufffd"],
)
def test_a_damaged_note_is_not_believed(damaged: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        module._remembered(damaged, ["theorem_of_one"])


def test_a_note_is_read_back_as_remembered() -> None:
    text = '{"theorem_of_one": [["axioms", 0]]}'
    verdict = only(module._remembered(text, ["theorem_of_one"]))
    assert verdict == Proved("Coq", (("axioms", 0), ("remembered", True)))


@needs_coq
def test_a_damaged_cache_is_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []

    def compile_all(*_: object, token: str) -> dict[str, Verdict]:
        built.append(token)
        return {"theorem_of_one": Proved("Coq", (("axioms", 0),))}

    monkeypatch.setattr(module, "_compile_all", compile_all)
    build([script(TRUE)])
    (note,) = cache_directory().iterdir()
    note.write_text("{")
    assert isinstance(only(build([script(TRUE)])), Proved)
    assert len(built) == 2
    again = only(build([script(TRUE)]))
    assert isinstance(again, Proved) and ("remembered", True) in again.facts
    assert len(built) == 2


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A ``coqc`` to be written, in the place of the one of this machine."""
    program = tmp_path / "coqc"
    found = Coq(str(program), "8.16.1")
    monkeypatch.setattr(module, "find_coq", lambda: found)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(module, "_recheck", lambda verdicts, *_: verdicts)
    return program


def answering(program: Path, text: str, status: int = 0) -> None:
    program.write_text(f"#!/bin/sh\n{text}\nexit {status}\n")
    program.chmod(0o755)


@pytest.mark.parametrize("words", ["Axiom a : 1 = 2.", "Lemma b : 1 = 2. Admitted."])
def test_forbidden_words_are_found_without_coq(fake: Path, words: str) -> None:
    answering(fake, "true")
    verdict = only(build([script(f"{words}\n{TRUE}")]))
    assert isinstance(verdict, Refuted)


def test_a_rejected_script_is_unknown_and_not_remembered(fake: Path) -> None:
    question = script(TRUE)
    for said in ("one", "two"):
        answering(fake, f"echo {said} >&2", 1)
        assert only(build([question])) == Unknown(f"Coq rejects one.v: {said}")
    answering(fake, "true")
    verdict = only(build([question]))
    assert isinstance(verdict, Unknown) and "did not say" in verdict.reason


def test_only_no_axioms_is_proved(fake: Path) -> None:
    coq, question = Coq(str(fake), "8.16.1"), script(TRUE)
    axioms = module._verdict("Axioms:\n  lie :\n  False", coq, question, 0.5)
    assert axioms == Refuted({"axioms": "lie : False"})
    assert isinstance(module._verdict(module.CLOSED, coq, question, 0.5), Proved)
    for answer in ("", f"{module.CLOSED}, nearly", f"not {module.CLOSED}"):
        assert isinstance(module._verdict(answer, coq, question, 0.5), Unknown)
