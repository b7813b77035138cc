"""What ``tilewright prove --resume`` notes: proved theorems, one JSON record a line.

A record says from which sources it was proved; with others it counts for nothing.
"""

import json
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from .failures import InputError, cannot
from .files import read_text

Record = dict[str, Any]
PACKAGES = ("algebra", "compiler", "verify", "proofs")
KINDS = (".py", ".v", ".cpp", ".json")


@cache
def sources() -> str:
    """Return a hash of everything that a proof is made from."""
    root = Path(__file__).parents[2]
    digest = sha256()
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.suffix in KINDS:
                digest.update(f"{path.relative_to(root)}\n".encode())
                digest.update(sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def noted(path: Path | None) -> dict[tuple[str, str], Record]:
    """Return the proved records of an earlier run, by name and statement.

    Raises:
        InputError: the file cannot be read, or is of another kind.
    """
    if path is None or not path.exists():
        return {}
    records = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        try:
            record = json.loads(line)
            key = record["name"], record["statement"]
            if record["verdict"] == "proved" and record.pop("sources", "") == sources():
                records.append((key, record))
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"--resume needs a file that this command wrote, got line {number} of "
                f"{str(path)!r}: {line[:40]!r}; name a new file"
            ) from error
    return dict(records)


def note(path: Path | None, record: Record) -> None:
    """Add a record to the file, if there is one.

    Raises:
        InputError: the file cannot be written.
    """
    if path is None:
        return
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**record, "sources": sources()}) + "\n")
    except OSError as error:
        raise cannot("write", path, error, "name another file") from error
