"""Certificates: clauses, refutations, and our own checker of them."""

from .bit_blaster import Question, question_of
from .certificate import Certificate, certify
from .rup import check, lemmas_of

__all__ = ["Certificate", "Question", "certify", "check", "lemmas_of", "question_of"]
