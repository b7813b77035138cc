"""The command line, called in this process."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tilewright.cli import main


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str
    err: str


Command = Callable[..., Answer]


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Command:
    """Run ``tilewright`` with these words."""

    def call(*words: object) -> Answer:
        capfd.readouterr()
        code = main([str(word) for word in words])
        out, err = capfd.readouterr()
        return Answer(code, out, err)

    return call
