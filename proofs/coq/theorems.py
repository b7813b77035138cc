"""The Coq developments as entries of the catalogue."""

from functools import lru_cache
from pathlib import Path

from algebra.verdict import Unknown, Verdict
from proofs.theorem import Theorem

from .build import build
from .source import FOLDER, Script, Statement, read_scripts


def theorems(folder: Path = FOLDER) -> tuple[Theorem, ...]:
    """Return one entry for each ``Theorem`` of the scripts, in order of the scripts.

    All scripts are built on the first ``prove`` and not again while they stay the same.

    Args:
        folder: Where the scripts are.

    Raises:
        ParseError: a script is malformed.

    Example:
        >>> entry = theorems()[0]
        >>> entry.scope, entry.method
        ('all dimensions', 'Coq')
    """
    scripts = read_scripts(folder)
    return tuple(
        _entry(statement, scripts)
        for script in scripts
        for statement in script.statements
    )


def _entry(statement: Statement, scripts: tuple[Script, ...]) -> Theorem:
    def check(timeout: float) -> Verdict:
        verdicts = _built(scripts, timeout)
        return verdicts.get(statement.name, Unknown("the build did not reach it"))

    return Theorem(
        name=statement.name,
        statement=f"{statement.sentence} Coq: {statement.formal}",
        scope="all dimensions",
        method="Coq",
        source=(
            f"proofs/coq/{statement.script}.v, line {statement.line}; "
            f"law of {statement.law_of}"
        ),
        check=check,
    )


@lru_cache(maxsize=4)
def _built(scripts: tuple[Script, ...], timeout: float) -> dict[str, Verdict]:
    return build(scripts, timeout)
