import pytest

from algebra.errors import ParseError
from proofs.coq import FOLDER, read_scripts
from proofs.coq.source import read_script

GOOD = """
(** Two sides
    are one. Law of [algebra.bits.parity]. *)
Theorem sides_are_one (n : nat) :
  n = n.
Proof. reflexivity. Qed.
"""


def test_a_statement_is_read_whole() -> None:
    (statement,) = read_script("one", GOOD).statements
    assert statement.name == "sides_are_one"
    assert statement.sentence == "Two sides are one."
    assert statement.formal == "(n : nat) : n = n"
    assert statement.law_of == "algebra.bits.parity"
    assert (statement.script, statement.line) == ("one", 4)


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("(** Two", "(* Two"),
        GOOD.replace("*)\n", "*)\n\n"),
        GOOD.replace("Law of [algebra.bits.parity].", ""),
        GOOD.replace("Law of [algebra.bits.parity].", "Law of algebra."),
        GOOD.replace("Proof.", "(* nothing *)"),
    ],
)
def test_a_theorem_without_sentence_or_law_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match=r"sides_are_one in one\.v") as caught:
        read_script("one", text)
    assert caught.value.facts["line"] >= 4


def test_an_empty_script_states_nothing() -> None:
    script = read_script("none", "")
    assert not script.statements and not script.requires
    assert script.forbidden is None


@pytest.mark.parametrize(
    "words",
    [
        "Admitted.",
        "Proof. admit. Qed.",
        "Axiom choice : True.",
        "Axioms a b : True.",
        "Parameter p : nat.",
        "Parameters p q : nat.",
        "Conjecture c : 1 = 2.",
        "Proof. give_up.",
        "#[bypass_check(guard)] Fixpoint f (n : nat) : nat := f n.",
        "Unset Guard Checking.",
        'Declare ML Module "plugin".',
    ],
)
def test_words_that_weaken_a_proof_are_found(words: str) -> None:
    script = read_script("weak", f"{GOOD}\n(* a (* nested *) remark *)\n{words}\n")
    assert script.forbidden is not None
    assert script.forbidden.startswith("weak.v, line ")


@pytest.mark.parametrize(
    "words", ["(* Admitted. *)", "(* (* Axiom *) admit *)", "Lemma admitted : True."]
)
def test_remarks_and_longer_words_are_free(words: str) -> None:
    assert read_script("fine", GOOD + words).forbidden is None


def test_scripts_come_after_those_that_they_require() -> None:
    seen: set[str] = set()
    for script in read_scripts():
        assert set(script.requires) <= seen
        seen.add(script.name)
    assert seen == {path.stem for path in FOLDER.glob("*.v")}


def test_a_circle_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("circle")
    for one, other in (("a", "b"), ("b", "a")):
        (folder / f"{one}.v").write_text(f"From tilewright Require Import {other}.\n")
    with pytest.raises(ParseError, match="circle"):
        read_scripts(folder)
    assert read_scripts(folder / "nothing") == ()


def test_no_script_weakens_its_proofs() -> None:
    assert [s.forbidden for s in read_scripts() if s.forbidden] == []
