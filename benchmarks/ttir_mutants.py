"""Are faults in kernels refuted? Text mutations of proved Liger kernels.

    python benchmarks/ttir_mutants.py --json benchmarks/results/ttir_mutants.json

Each mutant is checked against the kernel that it was made from. Killed: refuted by a
launch that was run. Open: nothing was proved. Equivalent: proved in everything, and
equal to the original. A mutant that is proved and not equal would be a defect of the
checker. A run that was cut short goes on where its JSON file ends.
"""

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from algebra.errors import LayoutError
from algebra.verdict import Proved, Refuted
from benchmarks.liger_launches import SIZES, cases, launches
from benchmarks.ttir_liger import commit
from verify.checking.check import check, text_of
from verify.checking.mutation import Mutation, mutations
from verify.checking.report import Report
from verify.launches.generalise import Statement, by_kernel, generalised


def main() -> int:
    """Mutate, check, print, write, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernels", type=int, default=30)
    parser.add_argument("--each", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--commit", help="recorded where git is not at hand")
    options = parser.parse_args()
    options.commit = options.commit or commit()
    deadline = time.monotonic() + options.seconds
    records: list[dict[str, Any]] = []
    options.commits = [options.commit]
    if options.json and options.json.exists():
        before = json.loads(options.json.read_text())
        if before["seed"] == options.seed:
            records = before["mutants"]
            options.commits = [*before["commits"], options.commit]
    kernels = sorted({record["kernel"] for record in records})
    for name, text, statement in good_kernels(options.kernels, kernels):
        if time.monotonic() > deadline:
            break
        kernels.append(name)
        for mutation in chosen(text, options.each, Random(options.seed)):
            record = judged(mutation, text, statement)
            records.append({"kernel": name} | record)
        last = Counter(r["outcome"] for r in records)
        print(f"{len(kernels):>3} {name:<50} {dict(last)}", flush=True)
        if options.json:
            options.json.write_text(
                json.dumps(summary(records, options), indent=1) + "\n"
            )
    found = summary(records, options)
    print(json.dumps({k: v for k, v in found.items() if k != "mutants"}, indent=1))
    return 0 if not found["outcomes"].get("wrongly proved") else 1


def good_kernels(
    count: int, done: Sequence[str]
) -> Iterator[tuple[str, str, Statement]]:
    """Yield kernels that are proved in everything, one of each function."""
    found = set(done)
    for case in cases().values():
        if len(found) >= count:
            break
        first, second = (launches(case, *size)[0] for size in SIZES)
        others = by_kernel(second)
        for key, launch in by_kernel(first).items():
            if launch.name in found or len(found) >= count:
                continue
            for k, partner in others.items():
                if (k[0], k[2], k[3]) != (key[0], key[2], key[3]):
                    continue
                try:
                    statement = generalised(launch, partner)
                    text = text_of(launch.kernel, statement.args, statement.constants)
                except LayoutError:
                    continue
                report = examined(text, text, statement, 10.0)
                if isinstance(report.verdict, Proved):
                    found.add(launch.name)
                    yield launch.name, text, statement
                break


def examined(text: str, reference: str, statement: Statement, budget: float) -> Report:
    """Return the report of a text against a reference."""
    return check(
        text,
        statement.args,
        statement.constants,
        statement.grid,
        statement.assume,
        reference,
        budget=budget,
        timeout=1.0,
        preconditions=False,
    )


def chosen(text: str, count: int, random: Random) -> list[Mutation]:
    """Return mutations of as many kinds as there are, in turn."""
    kinds: dict[str, list[Mutation]] = defaultdict(list)
    for mutation in mutations(text):
        kinds[mutation.kind].append(mutation)
    for listed in kinds.values():
        random.shuffle(listed)
    found: list[Mutation] = []
    while len(found) < count and any(kinds.values()):
        for listed in kinds.values():
            if listed and len(found) < count:
                found.append(listed.pop())
    return found


def judged(mutation: Mutation, text: str, statement: Statement) -> dict[str, Any]:
    """Return what became of a mutant."""
    record: dict[str, Any] = {"kind": mutation.kind, "line": mutation.line}
    try:
        report = examined(mutation.text, text, statement, 6.0)
    except LayoutError as error:
        return record | {"outcome": "unusable", "reason": str(error)[:200]}
    refuted = [o for o, v in report.verdicts.items() if isinstance(v, Refuted)]
    if refuted:
        return record | {"outcome": "killed", "by": refuted}
    if isinstance(report.verdict, Proved):
        return record | {"outcome": "equivalent"}
    reason = str(getattr(report.verdict, "reason", ""))[:200]
    others = {o: type(v).__name__ for o, v in report.verdicts.items()}
    edited = mutation.text.split("\n")[mutation.line - 1].strip()
    return record | {
        "outcome": "open",
        "reason": reason,
        "verdicts": others,
        "edited": edited[:160],
    }


def summary(records: list[dict[str, Any]], options: Any) -> dict[str, Any]:
    """Return the figures."""
    outcomes = Counter(r["outcome"] for r in records)
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        kinds[record["kind"]][record["outcome"]] += 1
    counted = outcomes["killed"] + outcomes["open"]
    return {
        "question": "Are faults in kernels refuted by a launch that was run?",
        "command": "python benchmarks/ttir_mutants.py",
        "seed": options.seed,
        "commits": list(dict.fromkeys(options.commits)),
        "kernels": len({r["kernel"] for r in records}),
        "cases": len(records),
        "outcomes": dict(outcomes),
        "killed_share": round(outcomes["killed"] / max(1, counted), 4),
        "kinds": {kind: dict(counts) for kind, counts in kinds.items()},
        "mutants": records,
    }


if __name__ == "__main__":
    raise SystemExit(main())
