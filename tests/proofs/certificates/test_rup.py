import random
import subprocess
import sys
from pathlib import Path

import pytest

from algebra.errors import ParseError
from algebra.verdict import Proved, Refuted, Unknown
from proofs.certificates import rup
from proofs.certificates.bit_blaster import Question

Clauses = list[tuple[int, ...]]
SQUARE: Clauses = [(1, 2), (-1, 2), (1, -2), (-1, -2)]
SOURCE = Path(rup.__file__).with_name("rup.cpp")

CASES: dict[str, tuple[Clauses, Clauses, bool]] = {
    "a proof": (SQUARE, [(2,), ()], True),
    "a unit is enough": (SQUARE, [(2,)], True),
    "junk after the contradiction": (SQUARE, [(2,), (), (1, 2), (-2,)], True),
    "contradictory units": ([(1,), (-1,)], [], True),
    "the empty clause is given": ([()], [], True),
    "nothing is shown": (SQUARE, [], False),
    "the empty clause out of nothing": (SQUARE, [()], False),
    "a lemma that does not follow": ([(1, 2)], [(1,), (-1,), ()], False),
    "no trace of an earlier assumption": (
        [(1, 2, 3), (1, 2, -3)],
        [(1, 2), (1,), (-1,), ()],
        False,
    ),
    "a lemma that is true at the top": ([(3,), *SQUARE], [(3, 4), (2,)], True),
    "a lemma that is always true": (SQUARE, [(1, -1), (2,), ()], True),
    "tautologies and repeats are given": ([(1, -1), (2, 2), (-2, -2)], [], True),
    "a repeated literal": (SQUARE, [(2, 2), ()], True),
    "a lemma is needed later": (
        [(1, 2, 3), (1, 2, -3), (1, -2, 3), (1, -2, -3), (-1, 4), (-1, -4)],
        [(1, 2), (1,), ()],
        True,
    ),
    "without the lemma it is too far": (
        [(1, 2, 3), (1, 2, -3), (1, -2, 3), (1, -2, -3), (-1, 4), (-1, -4)],
        [(4,), ()],
        False,
    ),
    "no clauses": ([], [], False),
}


def question(clauses: Clauses) -> Question:
    top = max((abs(literal) for clause in clauses for literal in clause), default=1)
    return Question(tuple(clauses), max(top, 4), {})


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    clauses, lemmas, expected = CASES[name]
    assert isinstance(rup.check(question(clauses), lemmas), Proved) == expected
    assert rup.accepts(clauses, lemmas) == expected


def random_case(rng: random.Random) -> tuple[Clauses, Clauses]:
    top = rng.randint(2, 5)

    def clause() -> tuple[int, ...]:
        size = rng.choice([1, 2, 2, 3, 3])
        return tuple(rng.choice([1, -1]) * rng.randint(1, top) for _ in range(size))

    clauses = [clause() for _ in range(rng.randint(1, 14))]
    return clauses, [clause() for _ in range(rng.randint(0, 6))]


def test_the_compiled_checker_is_the_plain_one() -> None:
    rng = random.Random(7)
    verdicts = []
    for _ in range(1500):
        clauses, lemmas = random_case(rng)
        verdict = rup.check(question(clauses), lemmas)
        accepted = rup.accepts(clauses, lemmas)
        assert isinstance(verdict, Proved) == accepted, (clauses, lemmas)
        verdicts.append(accepted)
    assert 200 < sum(verdicts) < 1300


def satisfiable(clauses: Clauses) -> bool:
    top = max(abs(literal) for clause in clauses for literal in clause)
    return any(
        all(
            any((literal > 0) == bool(x >> abs(literal) & 1) for literal in clause)
            for clause in clauses
        )
        for x in range(0, 2 << top, 2)
    )


def test_what_is_accepted_has_no_model() -> None:
    rng = random.Random(11)
    accepted = 0
    for _ in range(800):
        clauses, lemmas = random_case(rng)
        if isinstance(rup.check(question(clauses), lemmas), Proved):
            accepted += 1
            assert not satisfiable(clauses)
    assert accepted > 50


def test_the_first_wrong_lemma_is_named() -> None:
    verdict = rup.check(question(SQUARE), [(1, 2), (-3, 4), ()])
    assert verdict == Refuted(
        {"lemma": 2, "clause": (-3, 4), "proof": "does not follow"}
    )
    short = rup.check(question([(1, 2)]), [(1, 2)])
    assert short == Refuted({"proof": "ends without a contradiction", "lemmas": 1})


@pytest.mark.parametrize("literal", [5, -5, 2**31 - 1, -(2**31)])
def test_a_literal_out_of_range_is_malformed(literal: int) -> None:
    verdict = rup.check(question(SQUARE), [(literal, 1)])
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample["proof"] == "is malformed"
    given = Question(((literal,),), 4, {})
    assert isinstance(rup.check(given, []), Refuted)


def test_reading_proofs() -> None:
    assert rup.lemmas_of("1 -2 0\nd 1 2 0\n\n3 0\n0\n") == [(1, -2), (3,), ()]
    for text in ("1 2\n", "1 x 0\n", "1 0 2 0\n", "o 1 0\n"):
        with pytest.raises(ParseError, match="line 2 of the proof") as info:
            rup.lemmas_of(f"1 0\n{text}")
        assert info.value.facts["line"] == 2


def test_without_a_compiler_nothing_is_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    verdict = rup.check(question(SQUARE), [(2,)])
    assert isinstance(verdict, Unknown)
    assert "no-such-compiler" in verdict.reason


def accept_lines() -> list[int]:
    """The lines that decide on acceptance: ``implies`` and the entry point."""
    lines = SOURCE.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if "bool implies" in line)
    entry = next(i for i, line in enumerate(lines) if "rup_check(" in line)
    chosen = [*range(start + 1, start + 12), *range(entry + 2, len(lines))]
    return [
        i
        for i in chosen
        if lines[i].strip() not in ("", "}", "};")
        and not lines[i].strip().startswith(("//", "for ", "bool read"))
    ]


VARIANT = """
import sys
from pathlib import Path
sys.path[:0] = {paths!r}
import test_rup
from algebra.verdict import Proved
from proofs.certificates import rup
rup._source = lambda: Path({source!r}).read_text()
for clauses, lemmas, expected in test_rup.CASES.values():
    answer = rup.check(test_rup.question(clauses), lemmas)
    assert isinstance(answer, Proved) == expected
test_rup.test_the_first_wrong_lemma_is_named()
for literal in (5, -5):
    test_rup.test_a_literal_out_of_range_is_malformed(literal)
"""


def survives(source: str, folder: Path) -> bool:
    """Say whether a changed checker passes the cases above."""
    path = folder / "rup.cpp"
    path.write_text(source)
    here = Path(__file__)
    paths = [str(here.parent), str(here.parents[3])]
    code = VARIANT.format(paths=paths, source=str(path))
    command = [sys.executable, "-c", code]
    try:
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


@pytest.mark.slow
def test_no_line_of_the_accept_condition_can_go(tmp_path: Path) -> None:
    lines = SOURCE.read_text().splitlines()
    assert survives("\n".join(lines), tmp_path)
    chosen = accept_lines()
    assert len(chosen) >= 14
    survivors = [
        lines[i]
        for i in chosen
        if survives("\n".join(lines[:i] + lines[i + 1 :]), tmp_path)
    ]
    assert not survivors
