"""How many layouts a second campaigns compare, by library.

    python benchmarks/hunt_layouts.py --minutes 0.5 --workers 2

A comparison is one call of a library's function with drawn arguments, its table of
offsets against the right one; calls outside the contract or refused do not count. Two
rates: by the clock with all workers, and by the time of one processor, which other work
on the machine does not change. Every failure is shrunk and kept meanwhile, in a folder
that is thrown away.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from verify.libraries.campaign import LibraryCampaign, hunt

OUT = ROOT / "benchmarks" / "results" / "hunt_layouts.json"
LIBRARIES = ("tensor_layouts", "torch_pycute", "triton_layouts")


def main() -> None:
    """Hunt in each library, and write the rates down."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=0.5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--only", default=",".join(LIBRARIES))
    given = parser.parse_args()
    rows = {}
    for name in given.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            campaign = LibraryCampaign(name, Path(folder), given.minutes, given.seed)
            done = hunt(campaign, given.workers)
        compared = sum(tally.compared for tally in done)
        seconds = max(tally.seconds for tally in done)
        cpu = sum(tally.cpu for tally in done)
        statuses: dict[str, int] = {}
        for tally in done:
            for status, count in tally.statuses.items():
                statuses[status] = statuses.get(status, 0) + count
        rows[name] = {
            "compared": compared,
            "per_second": round(compared / seconds),
            "per_processor_second": round(compared / cpu),
            "statuses": dict(sorted(statuses.items())),
        }
        print(name, rows[name], flush=True)
    facts = {
        "workers": given.workers,
        "minutes": given.minutes,
        "seed": given.seed,
        "load": round(os.getloadavg()[0], 1),
        "libraries": rows,
    }
    OUT.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
