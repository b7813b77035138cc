"""The settings of the tools: complete, and each exception has its reason."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

PACKAGES = ["algebra", "compiler", "verify", "proofs", "manifolds", "tilewright"]
RULE = re.compile(r'^\s*"(?P<rule>[A-Z]+\d*)",(?P<rest>.*)$')
NOQA_IN_TESTS = re.compile(r"# noqa: [A-Z]+\d+(, [A-Z]+\d+)*")
NOQA = re.compile(NOQA_IN_TESTS.pattern + r"\W+\w+")
REASON = re.compile(r"# \S+( \S+){2,}")
INDEPENDENT_OF_COMPILER = ("ttir", "ptx", "legacy", "mlir")


@pytest.fixture(scope="module")
def settings(repository: Path) -> dict[str, Any]:
    return tomllib.loads((repository / "pyproject.toml").read_text())


def contract(settings: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (
        contract
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract["name"] == name
    )
    return dict(found)


def test_each_ignored_rule_has_a_reason(repository: Path) -> None:
    text = (repository / "pyproject.toml").read_text()
    lint = text.partition("\n[tool.ruff.lint]\n")[2]
    ignores = re.sub(r"select = \[.*?\]", "", lint, flags=re.DOTALL)
    rules = [found for line in ignores.splitlines() if (found := RULE.match(line))]
    assert {"D105", "D107", "D"} <= {found["rule"] for found in rules}
    assert not [found["rule"] for found in rules if not REASON.search(found["rest"])]


def test_each_noqa_names_its_rule_and_reason(
    repository: Path, committed: list[Path]
) -> None:
    """Tests may leave the reason out; nothing may leave the rule out."""
    bare = []
    for path in committed:
        if path.suffix != ".py" or path == Path(__file__).relative_to(repository):
            continue
        noqa = NOQA_IN_TESTS if path.parts[0] == "tests" else NOQA
        lines = (repository / path).read_text().splitlines()
        bare += [
            f"{path}:{number}"
            for number, line in enumerate(lines, 1)
            if re.search(r"#\s*noqa\b", line) and not noqa.search(line)
        ]
    assert not bare


def test_every_package_is_under_every_check(settings: dict[str, Any]) -> None:
    tool = settings["tool"]
    found = tool["setuptools"]["packages"]["find"]["include"]
    assert set(found) == {*PACKAGES, *(f"{name}.*" for name in PACKAGES)}
    assert set(PACKAGES) <= set(tool["pytest"]["ini_options"]["testpaths"])
    assert set(PACKAGES) <= set(tool["mypy"]["files"])
    assert tool["importlinter"]["root_packages"] == PACKAGES
    assert "algebra" in tool["coverage"]["run"]["source_pkgs"]
    assert tool["coverage"]["report"]["fail_under"] == 100


def test_layers_run_one_way_down(settings: dict[str, Any]) -> None:
    layers = contract(settings, "one way down")["layers"]
    assert sorted(layers) == sorted(PACKAGES)
    assert layers[0] == "tilewright"
    assert layers[-1] == "algebra"


@pytest.mark.parametrize("room", INDEPENDENT_OF_COMPILER)
def test_readers_of_kernels_are_independent_of_the_compiler(
    repository: Path, settings: dict[str, Any], room: str
) -> None:
    if not (repository / "verify" / room).exists():
        pytest.skip(f"verify/{room} is not there yet")
    rule = contract(settings, "validators are independent of the compiler")
    assert f"verify.{room}" in rule["source_modules"]
    assert "compiler" in rule["forbidden_modules"]


def test_only_obligations_read_the_compilers_ir(
    repository: Path, settings: dict[str, Any]
) -> None:
    if not (repository / "compiler" / "ir").exists():
        pytest.skip("compiler/ir is not there yet")
    rule = contract(settings, "only obligations read the compiler's IR")
    assert rule["source_modules"] == ["verify"]
    assert rule["forbidden_modules"] == ["compiler.ir"]
    assert all(line.startswith("verify.obligations") for line in rule["ignore_imports"])


def test_pins_are_one_a_line_and_cover_what_is_declared(
    repository: Path, settings: dict[str, Any]
) -> None:
    lines = (repository / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines)
    assert list(pins) == sorted(pins)
    groups = settings["dependency-groups"]
    declared = settings["project"]["dependencies"] + groups["test"] + groups["lint"]
    bounds = dict(requirement.split(">=") for requirement in declared)
    assert set(bounds) == set(pins)
    for name, bound in bounds.items():
        assert version(bound) <= version(pins[name]), name


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
