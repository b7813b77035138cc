"""The clauses mean what the terms mean: decided by listing all values."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from proofs.certificates.bit_blaster import Question, question_of
from proofs.certificates.rup import _conflicts
from verify import terms
from verify.terms import Formula, Term, variable

NAMES = ("x", "y", "k")
BITS = (3, 3, 2)


@st.composite
def term_of(draw: st.DrawFn, depth: int = 3) -> Term:
    if not depth or draw(st.booleans()):
        if draw(st.booleans()):
            return terms.lift(draw(st.integers(0, 7)))
        index = draw(st.integers(0, 2))
        return variable(NAMES[index], BITS[index])
    left, right = draw(term_of(depth - 1)), draw(term_of(depth - 1))
    kind = draw(st.sampled_from(["+", "^", "&", "//", "%", "*", "ite", "-", "size"]))
    size = 1 << draw(st.integers(0, 3))
    if kind == "+":
        return left + right
    if kind == "^":
        return left ^ right
    if kind == "&":
        return left & right
    if kind == "//":
        return left // size
    if kind == "%":
        return left % size
    if kind == "*":
        return left * size
    if kind == "-":
        return terms.monus(left, right)
    if kind == "size":
        symbolic = terms.Size(variable("k", 2))
        return draw(
            st.sampled_from([left // symbolic, left % symbolic, left * symbolic])
        )
    return terms.choose(terms.less(left, right), left, right)


@st.composite
def formula_of(draw: st.DrawFn) -> Formula:
    atoms = [
        make(draw(term_of()), draw(term_of()))
        for make in draw(
            st.lists(
                st.sampled_from([terms.equal, terms.less, terms.at_most]),
                min_size=1,
                max_size=3,
            )
        )
    ]
    if draw(st.booleans()):
        atoms[0] = terms.negate(atoms[0])
    combine = draw(st.sampled_from([terms.all_of, terms.any_of]))
    return combine(atoms)


def has_model(question: Question, values: dict[str, int]) -> bool:
    """Say whether the clauses allow these values: propagation decides all gates."""
    true = {
        literal if values[name] >> i & 1 else -literal
        for name, literals in question.variables.items()
        for i, literal in enumerate(literals)
    }
    clauses = [frozenset(clause) for clause in question.clauses]
    conflict = _conflicts(clauses, true)
    assert conflict or len(true) == question.literals
    return not conflict


@given(formula_of(), formula_of(), st.lists(st.integers(0, 255), max_size=12))
def test_a_model_is_a_counterexample(
    claim: Formula, premise: Formula, picks: list[int]
) -> None:
    question = question_of(claim, [premise])
    for pick in picks:
        values = {"x": pick & 7, "y": pick >> 3 & 7, "k": pick >> 6}
        expected = terms.holds(premise, values) and not terms.holds(claim, values)
        assert has_model(question, values) == expected


def test_every_value_of_an_adder() -> None:
    x, y = variable("x", 3), variable("y", 3)
    for expected in range(16):
        question = question_of(terms.negate(terms.equal(x + y, expected)))
        for a, b in product(range(8), repeat=2):
            assert has_model(question, {"x": a, "y": b}) == (a + b == expected)


def test_constants_of_logic() -> None:
    assert not has_model(question_of(terms.TRUE), {})
    assert has_model(question_of(terms.FALSE), {})


def test_the_text_for_solvers() -> None:
    x = variable("x", 1)
    question = question_of(terms.equal(x, 1))
    lines = question.dimacs().splitlines()
    assert lines[0] == f"p cnf {question.literals} {len(question.clauses)}"
    assert all(line.endswith(" 0") for line in lines[1:])
    bit = question.variables["x"][0]
    assert question.values([bit]) == {"x": 1}
    assert question.values([]) == {"x": 0}
