r"""Is a campaign quiet about our compiler as it is? Finds are false alarms or faults.

    OMP_NUM_THREADS=1 nice -n 10 python benchmarks/hunt_unmutated.py --minutes 30 \
        --folder /tmp/unmutated --json benchmarks/results/hunt_unmutated.json

One worker draws programs from all families and compares what the compiler makes of
them with eager mode. Each failure is shrunk and run again in fresh processes, and the
stages of PyTorch before the backend are asked: what plain capture or ``aot_eager``
shows in the same way, without the backend, is listed apart. All else counts against
the bar of none: finds of the subject, failures that did not come again, and a subject
that printed rubbish. Written after each slice; no GPU is needed.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = str(ROOT)

import torch

from verify.campaign.hunt import Campaign, Tally, work
from verify.campaign.store import Store

QUIET = ("ok", "skip", "open")
"""Statuses of programs with which all is well, or eager mode was not."""

SLICE = 2.0
"""Minutes between two writes of the table."""


def main() -> int:
    """Hunt, print, write; exit status 1 if there was an alarm."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--subject", default="tilewright")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("unmutated"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--commit", help="recorded where git is not at hand")
    options = parser.parse_args()
    measured = options.commit or commit()
    start = time.monotonic()
    facts: dict[str, Any] = {}
    while (left := options.minutes - (time.monotonic() - start) / 60) > 0:
        campaign = Campaign(
            options.subject, options.folder, min(left, SLICE), options.seed
        )
        tally = work(campaign, 0)
        facts = table(tally, Store(options.folder), options, measured)
        if options.json is not None:
            options.json.write_text(json.dumps(facts, indent=1) + "\n")
        print(
            f"{facts['minutes']} minutes, {facts['programs']} programs, "
            f"{facts['alarms']} alarms, {len(facts['before_the_subject'])} kinds of "
            "failures before the subject",
            flush=True,
        )
    return 1 if facts.get("alarms", 0) else 0


def table(
    tally: Tally, store: Store, options: argparse.Namespace, measured: str
) -> dict[str, Any]:
    """Return what was measured; finds are told apart by the stage at fault."""
    finds = list(store.finds())
    own = [_shown(find) for find in finds if find.get("own", True)]
    apart = [_shown(find) for find in finds if not find.get("own", True)]
    unsteady = len(list((store.folder / "unconfirmed").glob("*.json")))
    broken = tally.statuses["broken"]
    quiet = sum(tally.statuses[name] for name in QUIET)
    return {
        "question": f"what a campaign finds in {options.subject} as it is",
        "commit": measured,
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "machine": f"{os.cpu_count()} cores, shared with other work; nice "
        f"{os.nice(0)}, one worker",
        "seed": options.seed,
        "minutes": round(tally.seconds / 60, 1),
        "programs": tally.programs,
        "programs_per_second": round(tally.programs / max(tally.seconds, 1e-9), 2),
        "statuses": dict(tally.statuses),
        "failures": tally.programs - quiet,
        "symptoms": dict(tally.symptoms),
        "alarms": len(own) + unsteady + broken,
        "finds": own,
        "unconfirmed": unsteady,
        "broken": broken,
        "before_the_subject": apart,
        "programs_of_a_kind": dict(sorted(tally.features.items())),
        "pairs_of_operations": len(tally.pairs),
    }


def _shown(find: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": find["title"],
        "stage": find["stage"],
        "detail": str(find["answer"].get("detail", ""))[:200],
        "case": find["case"],
    }


def commit() -> str:
    """Return the commit of this checkout."""
    words = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
