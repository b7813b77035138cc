"""Prove the whole catalogue and write it down: results, docs page, README's table.

    python benchmarks/catalogue.py

Writes benchmarks/results/catalogue.json, docs/catalogue.md and the part of README.md
between the two markers. Stops without writing if anything is not proved.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from proofs import report

SOLVERS = ("z3-solver", "bitwuzla")


def main() -> None:
    """Prove, then write the three files."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "tilewright", "prove", "--json"]
    with tempfile.TemporaryDirectory() as cache:  # nothing is remembered
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "TILEWRIGHT_CACHE": cache},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(f"not everything is proved:\n{done.stdout[-3000:]}\n{done.stderr}")
    records = json.loads(done.stdout)["theorems"]
    seconds = time.perf_counter() - started
    programs = {
        name: subprocess.run([name, "--version"], capture_output=True, text=True)
        .stdout.strip()
        .splitlines()[0]
        for name in ("coqc", "cadical")
    }
    machine = {
        "python": platform.python_version(),
        **{name: version(name) for name in SOLVERS},
        **programs,
        "cores": len(
            [
                line
                for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("processor")
            ]
        ),
        "date": time.strftime("%Y-%m-%d"),
        "seconds": round(seconds, 1),
    }
    result = ROOT / "benchmarks" / "results" / "catalogue.json"
    result.write_text(
        json.dumps({"machine": machine, "theorems": records}, indent=1) + "\n"
    )
    words = (
        f"{len(records)} theorems, {seconds:.0f} s on {machine['cores']} shared cores, "
        f"{machine['date']}, Python {machine['python']}, z3 {machine['z3-solver']}, "
        f"bitwuzla {machine['bitwuzla']}."
    )
    (ROOT / "docs" / "catalogue.md").write_text(report.page(records, words))
    readme = ROOT / "README.md"
    table = f"{report.summary(records)}\n\n{words}"
    readme.write_text(report.replaced(readme.read_text(), table))
    print(f"{len(records)} proved in {seconds:.0f} s")


if __name__ == "__main__":
    main()
