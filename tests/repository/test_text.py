"""What committed text may not say."""

from pathlib import Path

import pytest

TEXT = {
    "",
    ".cfg",
    ".json",
    ".md",
    ".py",
    ".sh",
    ".toml",
    ".txt",
    ".v",
    ".yaml",
    ".yml",
}
# In two halves, so that this file does not say them either.
HOSTS = [
    "pypi" + ".org",
    "pythonhosted" + ".org",
    "download." + "pytorch",
    "index" + "-url",
    "find" + "-links",
    "/opt/" + "pypi",
    "/opt/" + "wheels",
]


@pytest.mark.parametrize("host", HOSTS)
def test_no_registry_is_named(
    repository: Path, committed: list[Path], host: str
) -> None:
    assert not [
        str(path)
        for path in committed
        if path.suffix in TEXT
        and host in (repository / path).read_text(errors="replace")
    ]


def test_each_fence_of_examples_is_read_as_such(
    repository: Path, committed: list[Path]
) -> None:
    """Doctest takes a fence for output unless a blank line stands before it."""
    swallowed = []
    for path in committed:
        if path.suffix != ".md":
            continue
        block: list[str] = []
        for line in (repository / path).read_text().splitlines():
            if line.startswith("```") and any(">>>" in inner for inner in block):
                if block[-1].strip():
                    swallowed.append(str(path))
                block = []
            elif line.startswith("```"):
                block = []
            else:
                block.append(line)
    assert not swallowed


def test_readme_has_examples(repository: Path) -> None:
    assert ">>>" in (repository / "README.md").read_text()
