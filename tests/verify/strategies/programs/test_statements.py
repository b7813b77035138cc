"""The table of Python statements is consistent: each runs in some program."""

import ast
import re

import pytest

from verify.strategies.programs.statements import (
    BLOCKS,
    CONDITIONS,
    DATA_CONDITIONS,
    NUMBER_EXPRESSIONS,
    TENSOR_EXPRESSIONS,
)

VALUES = {
    "T": "x0",
    "N": "2",
    "C": "True",
    "D": "x0.sum() > 0",
    "a": "x0",
    "v": "v0",
    "w": "w0",
    "B": "pass",
    "RETURN": "x0,",
}


def _filled(template: str) -> str:
    template = template.replace("{{", "\x01").replace("}}", "\x02")
    text = re.sub(r"\{(\w+)\}", lambda hole: VALUES[hole.group(1)], template)
    return text.replace("\x01", "{").replace("\x02", "}")


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_each_statement_is_python(name: str) -> None:
    lines = _filled(BLOCKS[name]).splitlines()
    ast.parse("def f():\n" + "\n".join(f"    {line}" for line in lines))


def test_each_expression_is_python() -> None:
    for table in (TENSOR_EXPRESSIONS, NUMBER_EXPRESSIONS, CONDITIONS, DATA_CONDITIONS):
        for text in table:
            ast.parse(_filled(text), mode="eval")


def test_what_capture_is_known_to_stumble_over_is_there() -> None:
    wanted = {"closure", "nonlocal", "comprehension", "with", "dataclass", "if_data"}
    wanted |= {"early_return", "generator", "try_key", "star_args", "f_string"}
    assert wanted | {"append", "dict_pop", "attribute", "global"} <= BLOCKS.keys()
