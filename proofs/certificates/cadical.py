"""The SAT solver that looks for models and writes proofs. Nothing here is trusted.

A model is evaluated on the claim itself; a proof is read by our own checker. Source:
A. Biere et al., CaDiCaL; Debian's package ``cadical``.
"""

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from algebra.verdict import Unknown

from .bit_blaster import Question

_SATISFIABLE, _UNSATISFIABLE = 10, 20


@dataclass(frozen=True, slots=True)
class Model:
    """True literals of an assignment that satisfies every clause."""

    literals: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Refutation:
    """A proof in DRAT text that there is no model; unchecked."""

    text: str


def solve(question: Question, timeout: float) -> Model | Refutation | Unknown:
    """Ask cadical for a model or a proof.

    Args:
        question: The clauses.
        timeout: Limit [seconds].

    Returns:
        ``Unknown`` where cadical is missing, stopped at the limit, or failed.
    """
    program = shutil.which("cadical")
    if program is None:
        return Unknown(
            "cadical is needed for this certificate and is not on the PATH; on Debian "
            "and Ubuntu: apt-get install cadical"
        )
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        clauses, proof = Path(folder, "question.cnf"), Path(folder, "proof.drat")
        clauses.write_text(question.dimacs())
        command = [program, "-q", "--no-binary", str(clauses), str(proof)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return Unknown(f"time-out: cadical gave no answer within {timeout:g} s")
        if done.returncode == _UNSATISFIABLE:
            return Refutation(proof.read_text())
        if done.returncode == _SATISFIABLE:
            values = [
                int(word)
                for line in done.stdout.splitlines()
                if line.startswith("v ")
                for word in line.split()[1:]
            ]
            return Model(tuple(value for value in values if value > 0))
        said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
        return Unknown(f"cadical ended with status {done.returncode}: {said[-1]}")
