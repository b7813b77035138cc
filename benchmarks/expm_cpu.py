"""How fast and how exact is expm with its gradient, next to torch.matrix_exp?

Both run in this process, alternating, on one thread: skew matrices with Henaff's angles
(blocks of rotations by angles uniform in [-pi, pi]) and dense ones of the same angles,
float32, incoming gradient of independent normal entries (Frobenius norm about n). Times
are the best and the median over the repeats; ratios are of the best, and the median of
the ratios of neighbours is there too. Errors are relative, against float64.

    python benchmarks/expm_cpu.py [--repeats N] [--out FILE]
"""

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import torch
from torch import Tensor

from manifolds.expm import expm, frechet

SIZES = (170, 190, 360)
BATCHES = ((4, 1000), (16, 1000), (64, 30))


def skew(n: int, dense: bool) -> Tensor:
    """Return a float64 skew matrix with Henaff's angles [n, n]."""
    angles = (torch.rand(n // 2, dtype=torch.float64) * 2 - 1) * torch.pi
    even = torch.arange(0, n - 1, 2)
    matrix = torch.zeros(n, n, dtype=torch.float64)
    matrix[even, even + 1] = angles
    matrix = matrix - matrix.T
    if dense:
        basis, _ = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64))
        matrix = basis @ matrix @ basis.T
    return (matrix - matrix.T) / 2


def step(f: Callable[[Tensor], Tensor], matrix: Tensor, gradient: Tensor) -> Tensor:
    """Return the gradient of ``f``, forward and backward."""
    (result,) = torch.autograd.grad(f(matrix), matrix, gradient)
    return result


def seconds(run: Callable[[], object]) -> float:
    """Return the wall time of one run [s]."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def compare(name: str, matrix: Tensor, repeats: int) -> dict[str, Any]:
    """Return times and errors of both on one float64 matrix or batch."""
    gradient = torch.randn_like(matrix).float()
    leaf = matrix.float().requires_grad_()
    exact = leaf.detach().double()
    wanted = (expm(exact), frechet(exact.mH, gradient.double()))
    subjects = {"ours": expm, "torch": torch.matrix_exp}
    times: dict[str, dict[str, list[float]]] = {
        subject: {"forward": [], "both": []} for subject in subjects
    }
    row: dict[str, Any] = {"case": name, "shape": list(matrix.shape)}
    for subject, f in subjects.items():
        found = (f(leaf).detach(), step(f, leaf, gradient))
        row[f"{subject}_errors"] = [
            float((x.double() - y).norm() / y.norm())
            for x, y in zip(found, wanted, strict=True)
        ]
    for _ in range(repeats):
        for subject, f in subjects.items():
            times[subject]["forward"].append(seconds(partial(f, leaf)))
            times[subject]["both"].append(seconds(partial(step, f, leaf, gradient)))
    for subject in subjects:
        for part, values in times[subject].items():
            row[f"{subject}_{part}_best_ms"] = 1e3 * min(values)
            row[f"{subject}_{part}_median_ms"] = 1e3 * statistics.median(values)
    row["ratio_of_best"] = row["torch_both_best_ms"] / row["ours_both_best_ms"]
    pairs = zip(times["torch"]["both"], times["ours"]["both"], strict=True)
    row["median_of_ratios"] = statistics.median(x / y for x, y in pairs)
    return row


def main() -> None:
    """Measure all cases, print a table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=40)
    out = ROOT / "benchmarks" / "results" / "expm_cpu.json"
    parser.add_argument("--out", type=Path, default=out)
    arguments = parser.parse_args()
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = []
    cases = {
        f"{'dense' if dense else 'Henaff'} n={n}": skew(n, dense)
        for dense in (False, True)
        for n in SIZES
    }
    for n, batch in BATCHES:
        cases[f"batch {batch} x {n}"] = torch.stack(
            [skew(n, True) for _ in range(batch)]
        )
    for name, matrix in cases.items():
        row = compare(name, matrix, arguments.repeats)
        rows.append(row)
        print(
            f"{name:16} ours {row['ours_both_best_ms']:8.2f} ms  "
            f"torch {row['torch_both_best_ms']:8.2f} ms  "
            f"ratio {row['ratio_of_best']:5.2f} (median {row['median_of_ratios']:5.2f})"
            f"  errors ours {max(row['ours_errors']):.1e} "
            f"torch {max(row['torch_errors']):.1e}"
        )
    report = {
        "question": "expm forward and backward against torch.matrix_exp, one thread",
        "commit": commit.stdout.strip(),
        "cases": len(rows),
        "repeats": arguments.repeats,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "machine": f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}",
        "rows": rows,
    }
    arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
