r"""Does a campaign cry wolf? Eager PyTorch against itself, many programs.

    nice -n 15 python benchmarks/hunt_false_alarms.py --minutes 60 \
        --folder /tmp/false_alarms --json benchmarks/results/hunt_false_alarms.json

Each program is drawn, sent as JSON to another process, built and run there twice, and
compared like any subject's: every answer but "ok" counts against the bar of none. The
same command goes on where it stopped, until 100,000 programs have run; the table is
written after every 4,000 or so, so a run that is cut short counts as far as it
got. No GPU is needed.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = str(ROOT)

import torch

from verify.campaign.hunt import Campaign, Tally, work
from verify.campaign.store import Store

SLICE = 4000
"""Programs between two writes of the table."""


def main() -> int:
    """Hunt, print, write; exit status 1 if there was an alarm."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--folder", type=Path, default=Path("false_alarms"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--commit", help="recorded where git is not at hand")
    options = parser.parse_args()
    measured = options.commit or commit()
    start = time.monotonic()
    while True:
        left = options.minutes - (time.monotonic() - start) / 60
        done = Tally.from_json(Store(options.folder).progress(0)).programs
        if left <= 0 or done >= options.programs:
            break
        campaign = Campaign(
            "eager",
            options.folder,
            left,
            per_process=2000,
            max_programs=min(options.programs, done + SLICE),
        )
        tally = work(campaign, 0)
        facts = table(tally, options.programs, measured)
        if options.json is not None:
            options.json.write_text(json.dumps(facts, indent=1) + "\n")
        print(
            f"{facts['programs']} programs, {facts['false_alarms']} false alarms, "
            f"{facts['programs_per_second']} a second",
            flush=True,
        )
    tally = Tally.from_json(Store(options.folder).progress(0))
    facts = table(tally, options.programs, measured)
    return 1 if facts["false_alarms"] else 0


def table(tally: Tally, wanted: int, measured: str) -> dict[str, Any]:
    """Return what was measured; skipped and open programs are told apart."""
    statuses = Counter(tally.statuses)
    quiet = statuses["ok"] + statuses["skip"] + statuses["open"]
    return {
        "question": "false alarms of eager PyTorch against itself",
        "commit": measured,
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "machine": f"{os.cpu_count()} cores, shared with other work; nice "
        f"{os.nice(0)}, one worker",
        "wanted": wanted,
        "programs": tally.programs,
        "statuses": dict(statuses),
        "false_alarms": tally.programs - quiet,
        "programs_of_a_kind": dict(sorted(tally.features.items())),
        "pairs_of_operations": len(tally.pairs),
        "seconds": round(tally.seconds, 1),
        "programs_per_second": round(tally.programs / max(tally.seconds, 1e-9), 2),
    }


def commit() -> str:
    """Return the commit of this checkout."""
    words = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
