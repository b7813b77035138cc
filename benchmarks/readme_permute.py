"""Write README's table of the memory permutations from the measured figures.

python benchmarks/readme_permute.py
"""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
START = "<!-- permute: written by benchmarks/readme_permute.py -->"
END = "<!-- end of permute -->"


def table(report: dict[str, Any]) -> str:
    """Return one line a map, one column a width."""
    widths = sorted({row["width"] for row in report["maps"]})
    names = list(dict.fromkeys(row["map"] for row in report["maps"]))
    heads = [f"{width} byte{'s' * (width > 1)}" for width in widths]
    lines = [f"| map | {' | '.join(heads)} |", "| --- |" + " --- |" * len(widths)]
    found = {(r["map"], r["width"]): r["fraction_of_copy"] for r in report["maps"]}
    for name in names:
        cells = [f"{found[name, width]:.2f}" for width in widths]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    versions = report["versions"]
    lines += [
        "",
        f"{report['gpu']}, torch {versions['torch']}, triton {versions['triton']}; "
        f"{report['cases']} cases, {report['failures']} wrong, commit "
        f"{report['commit'][:7]}.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Replace what stands between the two markers."""
    results = ROOT / "benchmarks" / "results" / "permute_speed_gpu.json"
    readme = ROOT / "README.md"
    before, rest = readme.read_text().split(START, 1)
    after = rest.split(END, 1)[1]
    new = table(json.loads(results.read_text()))
    readme.write_text(f"{before}{START}\n\n{new}\n\n{END}{after}")


if __name__ == "__main__":
    main()
