"""Compile the Coq scripts and ask what each theorem assumes.

Every script is copied to a new folder, a question is added at the end, and it is
compiled there; scripts that don't build on one another run side by side. The question
is ``Print Assumptions`` of a term that mentions every theorem of the script, and where
the answer isn't "Closed under the global context", of each theorem alone. A theorem is
Proved when Coq accepted its script and that is the answer. An axiom makes the claim
Refuted, since the claim is "without axioms"; everything else (no Coq, a rejected proof,
a time-out) is Unknown. In the end ``coqchk``, a separate program, reads all compiled
proofs once more.

A build in which everything was proved is remembered by the content of the scripts
and the version of Coq, below the cache directory.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from compiler.runtime.cache import cached_file, content_key

from .source import LIBRARY, Script

CLOSED = "Closed under the global context"
_INSTALL = "on Debian and Ubuntu: apt-get install coq libcoq-mathcomp-algebra"

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Coq:
    """An installed Coq with mathcomp.

    Attributes:
        program: Path of ``coqc``.
        version: What it calls itself, e.g. ``"8.16.1"``.
    """

    program: str
    version: str


def find_coq() -> Coq | Unknown:
    """Return the Coq of this machine, or what is missing and how to get it."""
    program = shutil.which("coqc")
    if program is None:
        return Unknown(f"coqc is needed and is not on the PATH; {_INSTALL}")
    try:
        version = _said(program, "--print-version").split()[0]
        libraries = [Path(_said(program, "-where"), "user-contrib")]
    except (OSError, subprocess.SubprocessError, IndexError) as failure:
        return Unknown(f"coqc does not run ({failure}); {_INSTALL}")
    libraries += [Path(p) for p in os.environ.get("COQPATH", "").split(":") if p]
    if not any((library / "mathcomp" / "algebra").is_dir() for library in libraries):
        return Unknown(
            f"the Coq library mathcomp is needed and is not in "
            f"{', '.join(map(str, libraries))}; {_INSTALL}"
        )
    return Coq(program, version)


def build(
    scripts: Sequence[Script],
    timeout: float = 60.0,
    *,
    jobs: int = 2,
    progress: Progress | None = None,
    fresh: bool = False,
) -> dict[str, Verdict]:
    """Check every theorem of the scripts.

    Args:
        scripts: Each after those that it requires.
        timeout: Limit of each script [seconds].
        jobs: Scripts that are compiled at a time.
        progress: Told of each script when it is done.
        fresh: Build, even if the same scripts were proved before.

    Returns:
        Theorem id -> verdict. ``Refuted.counterexample`` names the axioms.
    """
    names = [s.name for script in scripts for s in script.statements]
    coq = find_coq()
    if isinstance(coq, Unknown):
        return dict.fromkeys(names, coq)
    key = content_key(
        coq.version,
        *(part for script in scripts for part in (script.name, script.text)),
    )

    def run(path: Path) -> None:
        outcome = _compile_all(coq, scripts, timeout, jobs, progress, token=key)
        verdicts.update(outcome)
        if not all(isinstance(verdict, Proved) for verdict in outcome.values()):
            raise _NotKeptError
        note = {n: v.facts for n, v in outcome.items() if isinstance(v, Proved)}
        try:
            path.write_text(json.dumps(note))
        except OSError as error:
            raise _NotKeptError from error

    verdicts: dict[str, Verdict] = {}
    try:
        remembered = cached_file(f"{key}-coq.json", run, renew=fresh)
        if verdicts:
            return verdicts
        return _remembered(remembered.read_text(), names)
    except _NotKeptError:
        return verdicts
    except (ValueError, TypeError):  # the note is damaged
        return build(scripts, timeout, jobs=jobs, progress=progress, fresh=True)


def _remembered(text: str, names: Sequence[str]) -> dict[str, Verdict]:
    """Return the verdicts of a build that is noted in the cache.

    Raises:
        TypeError, ValueError: the note is damaged.
    """
    record = json.loads(text)
    if not isinstance(record, dict) or sorted(record) != sorted(names):
        raise ValueError("the note is about other theorems")
    return {
        name: Proved("Coq", (*((k, v) for k, v in facts), ("remembered", True)))
        for name, facts in record.items()
    }


class _NotKeptError(Exception):
    """Keeps out of the cache a build with gaps, or one that cannot be written."""


def _compile_all(
    coq: Coq,
    scripts: Sequence[Script],
    timeout: float,
    jobs: int,
    progress: Progress | None,
    token: str,
) -> dict[str, Verdict]:
    verdicts: dict[str, Verdict] = {}
    waiting = list(scripts)
    broken: dict[str, str] = {}
    done: set[str] = set()
    running: dict[Future[dict[str, Verdict]], Script] = {}
    with (
        tempfile.TemporaryDirectory(prefix="tilewright-coq-") as folder,
        ThreadPoolExecutor(max_workers=max(1, jobs)) as pool,
    ):
        while waiting or running:
            for script in list(waiting):
                blocked = [r for r in script.requires if r in broken]
                if blocked:
                    waiting.remove(script)
                    broken[script.name] = blocked[0]
                    reason = f"{script.name}.v builds on {blocked[0]}.v, which fails"
                    verdicts |= _all(script, Unknown(reason))
                elif done >= set(script.requires):
                    waiting.remove(script)
                    task = pool.submit(
                        _compile, coq, script, Path(folder), timeout, token
                    )
                    running[task] = script
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for task in finished:
                script = running.pop(task)
                outcome = task.result()
                verdicts |= outcome
                if (Path(folder) / f"{script.name}.vo").exists():
                    done.add(script.name)
                else:
                    broken[script.name] = script.name
                if progress is not None:
                    progress(_line(script, outcome))
        if all(isinstance(verdict, Proved) for verdict in verdicts.values()):
            verdicts = _recheck(verdicts, scripts, Path(folder), timeout)
    return {s.name: verdicts[s.name] for script in scripts for s in script.statements}


def _compile(
    coq: Coq, script: Script, folder: Path, timeout: float, token: str
) -> dict[str, Verdict]:
    """Compile one script and judge each of its theorems."""
    if script.forbidden is not None:
        return _all(script, Refuted({"unproved": script.forbidden}))
    names = [statement.name for statement in script.statements]
    together = "".join(f"let _ := @{name} in " for name in names)
    start = time.monotonic()
    asked = f"Definition all_{token} : True := {together}I.\n"
    asked += _question(f"all_{token}", token)
    output = _coqc(coq, script, folder, asked, timeout)
    if isinstance(output, str) and _answers(output, token) != {f"all_{token}": CLOSED}:
        asked = "".join(_question(name, token) for name in names)
        output = _coqc(coq, script, folder, asked, timeout)
        answers = _answers(output, token) if isinstance(output, str) else {}
    else:
        answers = dict.fromkeys(names, CLOSED)
    if isinstance(output, Unknown):
        return _all(script, output)
    seconds = round(time.monotonic() - start, 2)
    return {n: _verdict(answers.get(n, ""), coq, script, seconds) for n in names}


def _question(name: str, token: str) -> str:
    return f'Goal True. idtac "{token} {name}". Abort.\nPrint Assumptions {name}.\n'


def _coqc(
    coq: Coq, script: Script, folder: Path, asked: str, timeout: float
) -> str | Unknown:
    """Compile a script with questions at its end; return what Coq says."""
    path = folder / f"{script.name}.v"
    path.write_text(f"{script.text}\n{asked}")
    command = [coq.program, "-q", "-w", "none", "-Q", str(folder), LIBRARY, str(path)]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return Unknown(f"time-out: {script.name}.v took over {timeout:g} s")
    if answer.returncode:
        said = " ".join(answer.stderr.replace(str(folder) + os.sep, "").split())
        return Unknown(f"Coq rejects {script.name}.v: {said[:500]}")
    return answer.stdout


def _recheck(
    verdicts: dict[str, Verdict],
    scripts: Sequence[Script],
    folder: Path,
    timeout: float,
) -> dict[str, Verdict]:
    """Let Coq's separate checker read the compiled proofs, where it is installed."""
    program = shutil.which("coqchk")
    if program is None or not scripts:
        return verdicts
    modules = [word for s in scripts for word in ("-norec", f"{LIBRARY}.{s.name}")]
    try:
        answer = subprocess.run(
            [program, "-silent", "-Q", str(folder), LIBRARY, *modules],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        late = Unknown(f"time-out: coqchk took over {timeout:g} s")
        return dict.fromkeys(verdicts, late)
    if answer.returncode:
        said = " ".join(answer.stderr.split())[-500:]
        return dict.fromkeys(verdicts, Unknown(f"coqchk rejects the proofs: {said}"))
    return {
        name: Proved(verdict.method, (*verdict.facts, ("rechecked_by", "coqchk")))
        for name, verdict in verdicts.items()
        if isinstance(verdict, Proved)
    }


def _answers(output: str, token: str) -> dict[str, str]:
    """Cut the output at the marks: theorem -> what Coq said about it."""
    parts = [part.partition("\n") for part in output.split(f"{token} ")[1:]]
    return {name.strip(): answer.strip() for name, _, answer in parts}


def _verdict(answer: str, coq: Coq, script: Script, seconds: float) -> Verdict:
    if answer == CLOSED:
        facts = (
            ("script", f"{script.name}.v"),
            ("script_seconds", seconds),
            ("coq", coq.version),
            ("axioms", 0),
        )
        return Proved("Coq", facts)
    if answer.startswith("Axioms:"):
        return Refuted({"axioms": " ".join(answer.removeprefix("Axioms:").split())})
    return Unknown(f"Coq did not say what it assumes, got answer={answer[:200]!r}")


def _all(script: Script, verdict: Verdict) -> dict[str, Verdict]:
    return {statement.name: verdict for statement in script.statements}


def _line(script: Script, outcome: Mapping[str, Verdict]) -> str:
    proved = [v for v in outcome.values() if isinstance(v, Proved)]
    seconds = dict(proved[0].facts).get("script_seconds") if proved else None
    took = "" if seconds is None else f", {seconds} s"
    return f"{script.name}.v: {len(proved)} of {len(outcome)} proved{took}"


def _said(program: str, option: str) -> str:
    answer = subprocess.run(
        [program, option], capture_output=True, text=True, timeout=60, check=True
    )
    return answer.stdout.strip()
