"""Coq scripts as text: their statements, what they require, what they may not say.

Nothing is proved by reading. But a script that admits something, or states an axiom, is
rejected before Coq sees it, and the sentence, the formula and the Python function
of each theorem are read from the script, so that the catalogue cannot drift from it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from algebra.errors import ParseError

FOLDER = Path(__file__).parent
LIBRARY = "tilewright"

_FORBIDDEN = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|bypass_check"
    r"|Declare\s+ML\s+Module|Unset\s+(?:Guard|Positivity|Universe)\s+Checking)\b"
)
_REQUIRE = re.compile(rf"\bFrom\s+{LIBRARY}\s+Require\s+Import\s+([\w\s]+)\.")
_THEOREM = re.compile(r"^Theorem\s+(\w+)", re.MULTILINE)
_ENTRY = re.compile(
    r"\(\*\*\s+(?P<comment>(?:(?!\*\)).)*?)\s*\*\)\n"
    r"Theorem\s+(?P<name>\w+)(?P<formal>(?:(?!\n\n).)*?)\.\s+Proof\.",
    re.DOTALL,
)
_LAW = re.compile(r"\s*Law of \[([\w.]+)\]\.$")


@dataclass(frozen=True, slots=True)
class Statement:
    """One theorem as it stands in a script.

    Attributes:
        name: Its id, a sentence in snake_case.
        sentence: The same in words.
        formal: The same in Coq, without the name.
        law_of: The Python function whose law it is, with its package.
        script: Name of the script, without ``.v``.
        line: Where it starts, from 1.
    """

    name: str
    sentence: str
    formal: str
    law_of: str
    script: str
    line: int


@dataclass(frozen=True, slots=True)
class Script:
    """One ``.v`` file.

    Attributes:
        name: Without ``.v``.
        text: All of it.
        requires: Names of the scripts that it builds on.
        statements: Its theorems, in order.
    """

    name: str
    text: str
    requires: tuple[str, ...]
    statements: tuple[Statement, ...]

    @property
    def forbidden(self) -> str | None:
        """The first word that would weaken the proofs, with its line, or None."""
        found = _FORBIDDEN.search(_without_comments(self.text))
        if found is None:
            return None
        line = self.text.count("\n", 0, found.start()) + 1
        return f"{self.name}.v, line {line}: {found.group()}"


def read_script(name: str, text: str) -> Script:
    """Read the statements of one script.

    Args:
        name: Its name without ``.v``.
        text: Its content.

    Raises:
        ParseError: a theorem has no comment right before it, or the comment does not
            end with ``Law of [function].``; has ``line``.

    Example:
        >>> script = read_script("one", '''
        ... (** One is one.
        ...     Law of [algebra.bits.log2]. *)
        ... Theorem one_is_one : 1 = 1.
        ... Proof. reflexivity. Qed.
        ... ''')
        >>> script.statements[0].sentence, script.statements[0].formal
        ('One is one.', '1 = 1')
    """
    entries = {found["name"]: found for found in _ENTRY.finditer(text)}
    statements = []
    for found in _THEOREM.finditer(_without_comments(text)):
        line = text.count("\n", 0, found.start()) + 1
        entry = entries.get(found[1])
        law = entry and _LAW.search(entry["comment"])
        if not entry or not law:
            raise ParseError(
                f"a theorem needs a comment (** sentence. Law of [function]. *) right "
                f"before it and Proof. right after it, got theorem={found[1]} in "
                f"{name}.v, line {line}",
                line=line,
                column=1,
            )
        statements.append(
            Statement(
                name=found[1],
                sentence=_one_line(entry["comment"][: law.start()]),
                formal=_one_line(entry["formal"]).removeprefix(": "),
                law_of=law[1],
                script=name,
                line=line,
            )
        )
    requires = [
        required
        for group in _REQUIRE.findall(_without_comments(text))
        for required in group.split()
    ]
    return Script(name, text, tuple(requires), tuple(statements))


def read_scripts(folder: Path = FOLDER) -> tuple[Script, ...]:
    """Read every script of a folder, each after those that it requires.

    Raises:
        ParseError: a script is malformed, or requires one that is not there.
    """
    waiting = {
        path.stem: read_script(path.stem, path.read_text())
        for path in sorted(folder.glob("*.v"))
    }
    ordered: dict[str, Script] = {}
    while waiting:
        ready = [s for s in waiting.values() if ordered.keys() >= set(s.requires)]
        if not ready:
            raise ParseError(
                f"scripts require each other in a circle or one that is missing, got "
                f"scripts={sorted(waiting)} in {folder}",
                line=1,
                column=1,
            )
        for script in ready:
            ordered[script.name] = waiting.pop(script.name)
    return tuple(ordered.values())


def _without_comments(text: str) -> str:
    """Blank out comments, which may be nested, and keep every position."""
    kept = list(text)
    depth = position = 0
    while position < len(text):
        pair = text[position : position + 2]
        if pair == "(*" or (depth and pair == "*)"):
            depth += 1 if pair == "(*" else -1
            kept[position : position + 2] = "  "
            position += 2
            continue
        if depth and text[position] != "\n":
            kept[position] = " "
        position += 1
    return "".join(kept)


def _one_line(text: str) -> str:
    return " ".join(text.split())
