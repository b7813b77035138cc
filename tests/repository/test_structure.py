"""Files are where a reader looks for them, and none outgrows its noun."""

import ast
import io
import tokenize
from pathlib import Path

import pytest

PACKAGES = ("algebra", "compiler", "verify", "proofs", "manifolds", "tilewright")
CODE_LINES_MAX = 600
NAMES_THAT_SAY_NOTHING = {"util", "utils", "helper", "helpers", "common", "misc"}
LAYOUT_TOKENS = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


def docstring_lines(source: str) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ) and ast.get_docstring(node, clean=False):
            text = node.body[0]
            lines.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return lines


def code_lines(source: str) -> int:
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT_TOKENS:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstring_lines(source))


def modules(committed: list[Path]) -> list[Path]:
    return [
        path
        for path in committed
        if path.suffix == ".py"
        and path.parts[0] in PACKAGES
        and path.name not in ("__init__.py", "__main__.py")
    ]


def test_code_lines_leave_out_docstrings_comments_and_blanks() -> None:
    source = '"""One.\n\nTwo."""\n\n# why\nx = """a\nb"""\n\n\ndef f():\n    "doc"\n'
    assert code_lines(source) == 3


def test_each_module_has_its_test_file(repository: Path, committed: list[Path]) -> None:
    lacking = [
        str(path)
        for path in modules(committed)
        if not (
            repository
            / "tests"
            / path.with_name(f"test_{path.stem.removeprefix('_')}.py")
        ).is_file()
    ]
    assert not lacking


def test_each_test_file_has_its_module(repository: Path, committed: list[Path]) -> None:
    """A test named after its folder is about the folder's face.

    Golden values that go through several modules at once have files of their own.
    """
    strays = []
    for path in committed:
        if path.parts[0] != "tests" or path.parts[1] not in PACKAGES:
            continue
        if path.suffix != ".py" or path.name == "conftest.py":
            continue
        if path.name.startswith("test_golden_"):
            continue
        folder = repository / Path(*path.parts[1:-1])
        noun = path.stem.removeprefix("test_")
        homes = [folder / f"{noun}.py", folder / f"_{noun}.py"]
        if noun == folder.name:
            homes.append(folder / "__init__.py")
        if not any(home.is_file() for home in homes):
            strays.append(str(path))
    assert not strays


def test_no_module_is_too_long(repository: Path, committed: list[Path]) -> None:
    lengths = {
        str(path): code_lines(source)
        for path in committed
        if path.suffix == ".py"
        and (source := (repository / path).read_text()).count("\n") > CODE_LINES_MAX
    }
    assert lengths
    assert not {p: n for p, n in lengths.items() if n > CODE_LINES_MAX}


def test_each_name_says_something(committed: list[Path]) -> None:
    assert not [
        str(path)
        for path in committed
        if NAMES_THAT_SAY_NOTHING.intersection(
            part.removesuffix(".py").strip("_") for part in path.parts
        )
    ]


def test_no_package_below_tests(committed: list[Path]) -> None:
    assert not [
        str(path)
        for path in committed
        if path.parts[0] == "tests" and path.name == "__init__.py"
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_is_typed_and_introduced(repository: Path, package: str) -> None:
    assert (repository / package / "py.typed").is_file()
    face = ast.parse((repository / package / "__init__.py").read_text())
    assert ast.get_docstring(face)


def test_each_folder_of_modules_is_a_package(
    repository: Path, committed: list[Path]
) -> None:
    folders = {path.parent for path in modules(committed)}
    assert not [
        str(f) for f in folders if not (repository / f / "__init__.py").exists()
    ]
