"""The face: the spelling is loaded from ``algebra`` when it is asked for."""

import subprocess
import sys

import pytest

import algebra
from algebra import ttgir


def test_algebra_offers_the_spelling() -> None:
    assert algebra.parse_encoding is ttgir.parse_encoding
    assert algebra.print_encoding is ttgir.print_encoding
    assert {"parse_encoding", "print_encoding"} <= set(algebra.__all__)


def test_algebra_does_not_load_it_before() -> None:
    code = "import sys, algebra; raise SystemExit('algebra.ttgir' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_other_names_are_missing() -> None:
    with pytest.raises(AttributeError, match="no attribute 'parse'"):
        algebra.parse  # noqa: B018  # the access is the test
