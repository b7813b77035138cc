import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from algebra.verdict import Proved, Unknown
from proofs.coq import read_scripts, theorems
from proofs.coq.build import find_coq
from proofs.coq.source import Statement

STATEMENTS = [s for script in read_scripts() for s in script.statements]
MODULES_TO_COME = {"manifolds.expm"}


def test_entries_say_what_the_scripts_say() -> None:
    entries = theorems()
    assert [entry.name for entry in entries] == [s.name for s in STATEMENTS]
    assert len(entries) >= 30
    for entry, statement in zip(entries, STATEMENTS, strict=True):
        assert statement.sentence in entry.statement
        assert statement.formal in entry.statement
        assert (entry.scope, entry.method) == ("all dimensions", "Coq")
        assert entry.source.startswith(f"proofs/coq/{statement.script}.v, line ")


def test_names_are_sentences_and_unique() -> None:
    names = [s.name for s in STATEMENTS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+){2,}", name) for name in names)


def test_no_two_theorems_say_the_same() -> None:
    assert len({s.formal for s in STATEMENTS}) == len(STATEMENTS)
    assert len({s.sentence for s in STATEMENTS}) == len(STATEMENTS)


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda s: s.name)
def test_its_python_twin_is_evaluated(statement: Statement, repository: Path) -> None:
    """Both sides on random instances, with the function whose law it is."""
    twins = repository / "tests/integration/coq" / f"test_{statement.script}.py"
    functions = {
        node.name
        for node in ast.parse(twins.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    assert f"test_{statement.name}" in functions


@pytest.mark.parametrize("law_of", sorted({s.law_of for s in STATEMENTS}))
def test_its_python_function_exists(law_of: str) -> None:
    if law_of in MODULES_TO_COME and not exists(law_of):
        pytest.skip(f"{law_of} is not there yet")
    assert exists(law_of)


def exists(path: str) -> bool:
    """Whether a dotted path leads to a module or to something in one."""
    name, *rest = path.split(".")
    here: object = import_module(name)
    for part in rest:
        name = f"{name}.{part}"
        if hasattr(here, part):
            here = getattr(here, part)
            continue
        try:
            here = import_module(name)
        except ModuleNotFoundError:
            return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(isinstance(find_coq(), Unknown), reason="coqc is not installed")
def test_prove_builds_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "one.v").write_text(
        "(** Law of [algebra.bits.parity]. *)\nTheorem one : 1 = 1.\n"
        "Proof. reflexivity. Qed.\n"
    )
    (entry,) = theorems(tmp_path)
    first = entry.prove()
    assert isinstance(first, Proved) and "remembered" not in dict(first.facts)
    assert entry.prove() is first
