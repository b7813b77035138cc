import subprocess
import sys
from pathlib import Path

import pytest

import algebra
import tilewright


def test_every_public_name_is_there() -> None:
    assert len(set(tilewright.__all__)) == len(tilewright.__all__)
    assert set(algebra.__all__) <= set(tilewright.__all__)
    for name in tilewright.__all__:
        assert getattr(tilewright, name) is not None


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = tilewright.nonsense


def test_what_is_heavy_is_loaded_on_use(repository: Path) -> None:
    program = (
        "import sys, tilewright, tilewright.cli\n"
        "heavy = {'torch', 'triton', 'z3', 'bitwuzla', 'hypothesis', 'numpy', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_names_are_those_of_their_packages() -> None:
    import algebra.encodings
    import compiler

    assert tilewright.LinearLayout is algebra.LinearLayout
    assert tilewright.encodings is algebra.encodings
    assert tilewright.permute is compiler.permute
    assert set(dir(tilewright)) == set(tilewright.__all__)
