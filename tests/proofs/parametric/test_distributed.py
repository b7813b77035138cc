import pytest

from algebra.verdict import Proved, Refuted
from proofs.parametric import distributed
from proofs.parametric.blocked import subject
from proofs.parametric.distributed import Subject
from proofs.parametric.pieces import Piece, PieceLayout
from verify.solver import BOTH, prove

LINE = subject(1, (0,))


@pytest.mark.parametrize(
    "ask",
    [
        distributed.equivalent,
        distributed.linear,
        distributed.in_range,
        distributed.kernel,
        distributed.onto,
    ],
)
def test_each_question_about_a_line_is_proved(ask) -> None:  # type: ignore[no-untyped-def]
    query = ask(LINE)
    verdict = prove(query.claim, query.assumptions, solver=BOTH, timeout=60)
    assert isinstance(verdict, Proved)


def test_a_wrong_piece_is_refuted() -> None:
    pieces = {name: list(parts) for name, parts in LINE.layout.pieces.items()}
    lane = pieces["lane"][0]
    pieces["lane"] = [Piece(0, lane.size, 1)]
    wrong = Subject(
        LINE.name,
        LINE.model,
        PieceLayout(LINE.layout.shape, pieces),
        LINE.box,
        LINE.bits,
    )
    query = distributed.equivalent(wrong)
    verdict = prove(query.claim, query.assumptions)
    assert isinstance(verdict, Refuted)
    assert {"register", "lane", "warp", "p0", "s0"} <= set(verdict.counterexample)


def test_a_missing_register_piece_is_refuted() -> None:
    pieces = {name: list(parts) for name, parts in LINE.layout.pieces.items()}
    pieces["register"] = pieces["register"][:1]
    short = Subject(
        LINE.name,
        LINE.model,
        PieceLayout(LINE.layout.shape, pieces),
        LINE.box,
        LINE.bits,
    )
    query = distributed.equivalent(short)
    assert isinstance(prove(query.claim, query.assumptions), Refuted)


def test_questions_are_built_when_they_are_asked() -> None:
    build = distributed.questions(distributed.equivalent, subject, (1, (0,)))
    assert [query.name for query in build()] == ["order (0,)"]
