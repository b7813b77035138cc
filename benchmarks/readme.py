"""Write the tables of README and docs from the measured figures in benchmarks/results.

python benchmarks/readme.py
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def permute(report: dict[str, Any]) -> list[str]:
    """Return one line a map, one column a width."""
    widths = sorted({row["width"] for row in report["maps"]})
    names = list(dict.fromkeys(row["map"] for row in report["maps"]))
    heads = [f"{width} byte{'s' * (width > 1)}" for width in widths]
    found = {(r["map"], r["width"]): r["fraction_of_copy"] for r in report["maps"]}
    rows = [
        [name, *(f"{found[name, width]:.2f}" for width in widths)] for name in names
    ]
    versions = report["versions"]
    return [
        *grid(["map", *heads], rows),
        "",
        f"{report['gpu']}, torch {versions['torch']}, triton {versions['triton']}; "
        f"{report['cases']} cases, {report['failures']} wrong, commit "
        f"{report['commit'][:7]}.",
    ]


def fusing(report: dict[str, Any]) -> list[str]:
    """Return one line a function: time over a copy's, ours and Inductor's."""
    rows = [
        [
            row["name"].replace("_", " "),
            f"{row['bytes'] / 2**20:.0f}",
            f"{row['over_roofline']:.2f}",
            f"{row['inductor_over_roofline']:.2f}",
        ]
        for row in report["micro"]
        if "over_roofline" in row
    ]
    summary, machine = report["summary"], report["machine"]
    mean = [
        "geometric mean",
        "",
        f"{summary['time_over_roofline']:.2f}",
        f"{summary['inductor_over_roofline']:.2f}",
    ]
    return [
        *grid(["function", "MiB moved", "tilewright", "Inductor"], [*rows, mean]),
        "",
        f"{machine['gpu']}, torch {machine['torch']}, triton {machine['triton']}, "
        f"commit {report['commit'][:7]}.",
    ]


def ways_of_models(
    what: str, found: list[dict[str, Any]], *, memory: bool = False
) -> list[str]:
    """Return a table of each way to run each model; memory is with CUDA graphs."""
    ways = ("eager", "inductor", "tilewright", "inductor_graphs", "tilewright_graphs")
    heads = [what, "eager", "Inductor", "tilewright"]
    heads += ["Inductor, CUDA graphs", "tilewright, CUDA graphs"]
    rows = [[row["name"], *(f"{row[f'{w}_ms']:.2f}" for w in ways)] for row in found]
    if memory:
        heads += ["Inductor's memory [GiB]", "tilewright's [GiB]"]
        for cells, row in zip(rows, found, strict=True):
            cells += [f"{row[f'{w}_peak_mb'] / 1024:.2f}" for w in ways[3:]]
    heads += ["Inductor compiles [s]", "tilewright compiles [s]"]
    for cells, row in zip(rows, found, strict=True):
        cells += [f"{row[f'{w}_compile_s']:.1f}" for w in ways[1:3]]
    return grid(heads, rows)


def models(report: dict[str, Any]) -> list[str]:
    """Return one line a model: milliseconds of each way to run it."""
    summary, machine = report["models_summary"], report["machine"]
    commits = dict.fromkeys(
        row.get("commit", report["commit"]) for row in report["models"]
    )
    return [
        *ways_of_models("inference [ms]", report["models"]),
        "",
        f"Geometric mean of the speed over Inductor's: "
        f"{summary['speed_over_inductor']:.2f}, with CUDA graphs on both sides "
        f"{summary['graphs_speed_over_inductor']:.2f}; of the compile time "
        f"{summary['compile_over_inductor']:.2f}. {machine['gpu']}, bfloat16 autocast, "
        f"commit{'s' * (len(commits) > 1)} {' and '.join(commits)}.",
    ]


def training(report: dict[str, Any]) -> list[str]:
    """Return one line a model: a step's milliseconds, each way's, and its memory."""
    summary, machine, adamw = report["summary"], report["machine"], report["adamw"]
    return [
        *ways_of_models("forward and backward [ms]", report["models"], memory=True),
        "",
        f"Geometric mean of the speed over Inductor's: "
        f"{summary['speed_over_inductor']:.2f}, with CUDA graphs on both sides "
        f"{summary['graphs_speed_over_inductor']:.2f}; of the compile time "
        f"{summary['compile_over_inductor']:.2f}; of the memory beyond the weights "
        f"{summary['peak_over_inductor']:.2f}, with CUDA graphs (the columns) "
        f"{summary['graphs_peak_over_inductor']:.2f}. A step of AdamW over "
        f"{adamw['tensors']} tensors of {adamw['numbers'] / 1e6:.0f} million numbers "
        f"takes {adamw['tilewright_us'] / 1e3:.2f} ms, {adamw['over_bytes']:.2f} of a "
        f"copy of its bytes (Inductor {adamw['inductor_us'] / 1e3:.2f} ms). "
        f"{machine['gpu']}, bfloat16 autocast, torch {machine['torch']}, "
        f"commit {report['commit'][:7]}.",
    ]


def manifolds(report: dict[str, Any]) -> list[str]:
    """Return one line a figure: ours next to the best other way."""
    step = report["step"]
    rows = [
        [
            f"training step of expRNN, hidden {step['n']}, 1,000 steps, batch 128",
            f"{step['ours']:.2f}",
            f"{min(step['hoisted_eager'], step['cuda_graph']):.1f}",
            "PyTorch in a CUDA graph",
        ]
    ]
    for row in report["recurrence"]:
        rows.append(
            [
                f"its recurrence, both directions, hidden {row['n']}",
                f"{row['ours']:.2f}",
                f"{row['cudnn_tanh']:.1f}",
                "cuDNN's unconstrained tanh RNN",
            ]
        )
    for row in report["expm"]:
        count = f"{row['count']:,} x " if row["count"] > 1 else ""
        rows.append(
            [
                f"exponential and its gradient, {count}{row['n']} x {row['n']}",
                f"{row['ours_both']:.2f}",
                f"{row['torch_both']:.2f}",
                "torch.matrix_exp",
            ]
        )
    versions = report["versions"]
    return [
        *grid(["float32, no TF32 [ms]", "tilewright", "other", "which"], rows),
        "",
        f"{report['gpu']}, torch {versions['torch']}, triton {versions['triton']}; "
        f"{report['cases']} cases, {len(report['failures'])} failures, commit "
        f"{report['commit'][:7]}.",
    ]


def assigned_kernels(report: dict[str, Any]) -> list[str]:
    """Return one line a kernel: time over Triton's at each size."""
    kernels = list(dict.fromkeys(row["kernel"] for row in report["rows"]))
    means = report["summary"]["by_kernel"]
    rows = []
    for kernel in kernels:
        found = [row for row in report["rows"] if row["kernel"] == kernel]
        ratios = ", ".join(f"{row['ratio']:.2f}" for row in found)
        right = sum(row["right"] for row in found)
        name = kernel.replace("_", " ")
        rows.append([name, f"{right} of {len(found)}", ratios, f"{means[kernel]:.2f}"])
    heads = ["kernel", "right", "time over Triton's, four sizes", "mean"]
    return [
        *grid(heads, rows),
        "",
        f"Geometric mean {report['summary']['geometric_mean']:.2f}. "
        f"{report['device']}, torch {report['torch']}, triton {report['triton']}, "
        f"commit {report['commit'][:7]}.",
    ]


def fused_layouts(report: dict[str, Any]) -> list[str]:
    """Return one line a function: microseconds by each way's layouts."""
    ways = ("inductor", "triton", "assigned")
    rows = [
        [row["case"], *(f"{row['ways'][way]['seconds'] * 1e6:.1f}" for way in ways)]
        for row in report["cases"]
    ]
    summary, versions = report["summary"], report["versions"]
    return [
        *grid(["time [us]", "Inductor", "Triton's layouts", "assigned"], rows),
        "",
        f"{summary['right']} of {summary['cases']} right. {report['machine']}, torch "
        f"{versions['torch']}, triton {versions['triton']}, "
        f"commit {report['commit'][:7]}.",
    ]


def mixed_precision(report: dict[str, Any]) -> list[str]:
    """Return one line a problem: times, and the two bars' ratios."""
    rows = [
        [
            row["format"],
            f"{row['k']} x {row['n']}",
            str(row["m"]),
            f"{min(row['us']['ours'], row['us']['ours, dependent']):.1f}",
            f"{row['of_read']:.2f}",
            f"{row['times_faster']:.1f}",
        ]
        for row in report["rows"]
    ]
    versions = report["versions"]
    heads = ["weights", "k x n", "rows", "time [us]", "of a read's speed"]
    return [
        *grid([*heads, "times PyTorch's best"], rows),
        "",
        f"{report['gpu']}, torch {versions['torch']}, triton {versions['triton']}, "
        f"commit {report['commit'][:7]}.",
    ]


def operand_pairs(report: dict[str, Any]) -> list[str]:
    """Return one line a way: how many of the products are right."""
    rows = [
        [
            way,
            f"{report['compiled'][way]} of {report['kernels'][way]}",
            f"{found['right']} of {found['cases']}",
            f"{found['rate']:.0%}",
        ]
        for way, found in report["ways"].items()
    ]
    versions = report["versions"]
    return [
        *grid(["way", "kernels that compile", "products right", "share"], rows),
        "",
        f"{report['gpu']}, torch {versions['torch']}, triton {versions['triton']}, "
        f"commit {report['commit'][:7]}.",
    ]


def static_conversions(report: dict[str, Any]) -> list[str]:
    """Return one line a conversion: cycles and barriers, ours and Triton's."""
    rows = [
        [
            row["row"],
            row["way"],
            *(f"{row[who]['cost']:.1f}" for who in ("ours", "triton")),
            *(str(row[who]["counts"].get("bar.sync", 0)) for who in ("ours", "triton")),
        ]
        for row in report["rows"]
    ]
    heads = [
        "conversion",
        "our way",
        "cycles a warp",
        "Triton's",
        "barriers",
        "Triton's",
    ]
    dearer = sum(r["ours"]["cost"] > r["triton"]["cost"] for r in report["rows"])
    return [
        *grid(heads, rows),
        "",
        f"{report['target']}, Triton {report['triton']}; {report['cases']} cases, "
        f"{dearer} dearer than Triton's, commit {report['commit'][:7]}.",
    ]


def conversions(report: dict[str, Any]) -> list[str]:
    """Return one line a figure of the run on a GPU."""
    summary, right = report["summary"], report["right"]
    caught = sum(fault["caught_at"] is not None for fault in report["faults"])
    rest = summary["timed"] - summary["at_limit"]
    rows = [
        [
            "random conversions compared bitwise with PyTorch",
            f"{right['counts']['run']:,}",
        ],
        ["of them wrong", str(len(right["failures"]))],
        ["faults of plans run, caught", f"{len(report['faults'])}, {caught}"],
        ["conversions timed", str(summary["timed"])],
        ["time over Triton's, geometric mean", f"{summary['geometric_mean']:.2f}"],
        ["largest", f"{summary['largest']:.2f}"],
        ["above 1.05", str(summary["above_1.05"])],
        [
            "where Triton is at the least that shared memory does, above 1.02",
            f"{summary['at_limit_above_1.02']} of {summary['at_limit']}",
        ],
        [
            f"geometric mean of the other {rest}",
            f"{summary['geometric_mean_not_at_limit']:.2f}",
        ],
        [
            "by the cost model, without timing: geometric mean, above 1.05",
            f"{summary['geometric_mean_by_the_cost_model']:.2f}, "
            f"{summary['model_above_1.05']}",
        ],
    ]
    versions = report["versions"]
    return [
        *grid(["what", "figure"], rows),
        "",
        f"{report['gpu']}, torch {versions['torch']}, triton {versions['triton']}, "
        f"commit {report['commit'][:7]}.",
    ]


def grid(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(heads)} |", "| --- |" + " --- |" * (len(heads) - 1)]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]


SECTIONS: dict[str, tuple[str, str, Callable[[dict[str, Any]], list[str]]]] = {
    "permute": ("README.md", "permute_speed_gpu.json", permute),
    "fusing": ("README.md", "fusing_gpu.json", fusing),
    "models": ("README.md", "fusing_gpu.json", models),
    "training": ("README.md", "training_gpu.json", training),
    "manifolds": ("README.md", "manifolds_gpu.json", manifolds),
    "static conversions": (
        "docs/conversions.md",
        "static_conversions.json",
        static_conversions,
    ),
    "fused layouts": ("docs/backend.md", "fused_layouts_gpu.json", fused_layouts),
    "assigned kernels": ("docs/assign.md", "assign_gpu.json", assigned_kernels),
    "mixed precision": (
        "docs/mixed_precision.md",
        "mixed_precision_gpu.json",
        mixed_precision,
    ),
    "operand pairs": ("docs/mixed_precision.md", "mixed_pairs_gpu.json", operand_pairs),
    "conversions": ("docs/conversions.md", "conversions_gpu.json", conversions),
}
"""Marker -> page, result file, and what makes the table of it."""


def main() -> None:
    """Replace what stands between the markers."""
    for name, (page, file, table) in SECTIONS.items():
        text = (ROOT / page).read_text()
        start = f"<!-- {name}: written by benchmarks/readme.py -->"
        end = f"<!-- end of {name} -->"
        before, rest = text.split(start, 1)
        after = rest.split(end, 1)[1]
        new = "\n".join(table(json.loads((RESULTS / file).read_text())))
        (ROOT / page).write_text(f"{before}{start}\n\n{new}\n\n{end}{after}")


if __name__ == "__main__":
    main()
