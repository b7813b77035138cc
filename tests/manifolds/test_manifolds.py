import subprocess
import sys
from pathlib import Path

import pytest

import manifolds


@pytest.mark.parametrize("name", manifolds.__all__)
def test_each_public_name_is_there(name: str) -> None:
    assert getattr(manifolds, name) is not None
    assert name in dir(manifolds)


def test_torch_is_loaded_with_the_first_name_only(repository: Path) -> None:
    program = "import manifolds, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], cwd=repository, check=True)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = manifolds.nothing
