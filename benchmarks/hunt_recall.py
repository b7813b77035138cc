r"""Does a campaign without hints find faults that users reported?

    OMP_NUM_THREADS=1 nice -n 10 python benchmarks/hunt_recall.py --minutes 60 \
        --workers 2 --seed 700000 --folder /tmp/recall \
        --json benchmarks/results/hunt_recall.json

The command is ``tilewright hunt --subject inductor`` with all families; nothing says
what is sought. Afterwards each find's reduced program is held against the reports that
still reproduce on the installed release (pytorch/pytorch; a minimal program of each
was run first): it counts for one only if it has that report's symptom and its
operations. A folder goes on where it stopped (with Ctrl-C, say), and processor seconds
add up, also those of campaigns with ``--subject aot_eager``; ``--minutes 0`` only
writes the table.

What a JSON file says of campaigns whose folder is gone stays in it, and their seconds
and finds count: so a hunt goes on elsewhere, with ``--seed`` for programs of its own.
"""

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = str(ROOT)

import torch

from verify.campaign.hunt import Campaign, Tally, hunt
from verify.campaign.store import Store


@dataclass(frozen=True, slots=True)
class Reported:
    """Faults that were reported, and what a find of one looks like.

    Attributes:
        numbers: Issues of pytorch/pytorch.
        what: In a few words.
        matches: Whether a reduced find has this cause: its symptom, its operations,
            its lines as one text, and the case.
    """

    numbers: tuple[int, ...]
    what: str
    matches: Callable[[str, set[str], str, Mapping[str, Any]], bool]


def _lie_together(case: Mapping[str, Any]) -> bool:
    calls = [case["inputs"], *case["others"]]
    return any(spec.get("base") for specs in calls for spec in specs.values())


REPORTED = {
    6: Reported(
        (175966,),
        "arange times a constant is computed in 32 bits",
        lambda kind, names, text, case: (
            kind == "value"
            and bool(names & {"arange_large", "arange_steps", "arange_times"})
        ),
    ),
    11: Reported(
        (116433,),
        "strides of a result are not eager mode's",
        lambda kind, names, text, case: kind == "strides",
    ),
    12: Reported(
        (197829,),
        "a shift in place becomes an overlapping copy",
        lambda kind, names, text, case: (
            kind == "value" and bool(names & {"shift_in_place", "overlapping_shift"})
        ),
    ),
    16: Reported(
        (139789,),
        "tensors lie in one storage in a later call: not compiled anew",
        lambda kind, names, text, case: (
            kind == "value"
            and _lie_together(case)
            and not any(spec.get("base") for spec in case["inputs"].values())
        ),
    ),
    28: Reported(
        (105264, 187018, 113253),
        "arithmetic of a narrow integer type is done in a wider one",
        lambda kind, names, text, case: (
            kind == "value"
            and bool(names & {"abs", "neg", "square"})
            and any(
                spec["dtype"] in ("int8", "int16", "uint8")
                for spec in case["inputs"].values()
            )
        ),
    ),
    29: Reported(
        (198081, 197091),
        "type of any of uint8, or of ldexp",
        lambda kind, names, text, case: (
            kind == "dtype" and bool(names & {"any", "any_all", "any_dims", "ldexp"})
        ),
    ),
    30: Reported(
        (197895,),
        "floor division of floats is the floor of a quotient",
        lambda kind, names, text, case: kind == "value" and " // " in text,
    ),
}
"""Number of the report in the project's notes -> what it is. Dropped casts (31, 32) are
none: programs may keep more digits than eager mode, see ``verify.oracle.rounding``."""


def main() -> None:
    """Hunt, hold the finds against the reports, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--subject", default="inductor")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=700_000)
    parser.add_argument("--operations", type=int, default=16)
    parser.add_argument("--folder", type=Path, default=Path("recall"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--commit", help="recorded where git is not at hand")
    options = parser.parse_args()
    if options.minutes:
        _run(options)
    campaigns = {
        f"{path.parent.name} from {options.seed}": json.loads(path.read_text())
        for path in sorted(options.folder.glob("*/campaign.json"))
    }
    here = found(options.folder)
    if options.json is not None and options.json.is_file():
        before = json.loads(options.json.read_text())
        campaigns = {**before["campaigns"], **campaigns}
        here = joined(before, here)
    facts = {
        "question": "reported faults that a campaign without hints finds",
        "bar": "5 reports within 60 minutes of 2 cores: 7200 processor seconds",
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "machine": f"{os.cpu_count()} cores, shared with other work",
        "processor_seconds": sum(
            one["processor_seconds"] for one in campaigns.values()
        ),
        "campaigns": campaigns,
        **here,
    }
    print(json.dumps(facts, indent=1))
    if options.json is not None:
        options.json.write_text(json.dumps(facts, indent=1) + "\n")


def _run(options: argparse.Namespace) -> None:
    """Hunt, and write down what it took beside the finds."""
    folder = options.folder / options.subject
    used = folder / "campaign.json"
    before = json.loads(used.read_text()) if used.is_file() else {}
    campaign = Campaign(
        options.subject,
        folder,
        options.minutes,
        options.seed,
        max_operations=options.operations,
    )
    start = time.monotonic()
    with suppress(KeyboardInterrupt):  # what was done is written down
        hunt(campaign, options.workers)
    store = Store(folder)
    tallies = [Tally.from_json(store.progress(n)) for n in range(options.workers)]
    statuses: Counter[str] = Counter()
    for tally in tallies:
        statuses.update(tally.statuses)
    facts = {
        "command": f"tilewright hunt --subject {options.subject} --workers "
        f"{options.workers} --seed {options.seed} --operations {options.operations}",
        "commit": options.commit or _commit(),
        "processor_seconds": round(
            before.get("processor_seconds", 0) + _processor_seconds()
        ),
        "minutes": round(before.get("minutes", 0) + (time.monotonic() - start) / 60, 1),
        "programs": sum(tally.programs for tally in tallies),
        "statuses": dict(statuses),
    }
    used.write_text(json.dumps(facts, indent=1) + "\n")


def found(folder: Path) -> dict[str, Any]:
    """Return what the finds of a folder are, and which reports are among them."""
    reports: dict[str, Any] = {}
    others: list[dict[str, Any]] = []
    for path in sorted(folder.glob("*/finds/*.json"), key=_written):
        find = json.loads(path.read_text())
        case, answer = find["case"], find["answer"]
        text = "; ".join(case["lines"])
        names = set(case["operations"])
        row = {
            "file": f"{case['subject']}/test_{path.stem}.py",
            "seed": case["seed"],
            "stage": find["stage"],
            "symptom": find["title"].partition(": ")[2],
            "program": text,
            "seen": re.sub(r"\s+", " ", str(answer.get("detail", "")))[:120],
        }
        which = [
            number
            for number, report in REPORTED.items()
            if report.matches(answer.get("kind", ""), names, text, case)
        ]
        if not which:
            others.append(row)
            continue
        for number in which:
            report = REPORTED[number]
            at = reports.setdefault(
                str(number),
                {"issues": list(report.numbers), "what": report.what, "finds": []},
            )
            at["finds"].append(row)
    return {"reports_found": len(reports), "reports": reports, "other_finds": others}


def joined(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return what two tables of :func:`found` say together.

    A find stands once, though a folder is written down again and again.
    """

    def once(*parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        rows = [row for part in parts for row in part]
        return list({(row["file"], row["seed"]): row for row in rows}.values())

    reports = {number: dict(one) for number, one in before["reports"].items()}
    for number, one in now["reports"].items():
        old = reports.get(number, {**one, "finds": []})
        reports[number] = {**old, "finds": once(old["finds"], one["finds"])}
    others = once(before["other_finds"], now["other_finds"])
    return {"reports_found": len(reports), "reports": reports, "other_finds": others}


def _written(path: Path) -> float:
    return path.stat().st_mtime


def _processor_seconds() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(
            resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
    )


def _commit() -> str:
    words = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
