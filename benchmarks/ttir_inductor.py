"""How many of the kernels that Inductor generated are proved?

    python benchmarks/ttir_inductor.py FOLDER/*.jsonl.gz \
        --json benchmarks/results/ttir_inductor.json

The texts come from ``ttir_inductor_fake.py``, which compiles for a GPU that is not
there, or from ``ttir_inductor_collect.py``, which runs on one. Each configuration of a
kernel is a case. Inductor compiles for fixed sizes, so sizes and grid are numbers here:
the statement is about all programs and lanes of that launch, and about any contents of
memory, but that integers which a GPU read are in the range that they had; where it is
not known, an index that another kernel computed refutes nothing. Two parameters at one
address are one memory. Times are processor time. A run of the same commit goes on where
the JSON file ends.
"""

import argparse
import gzip
import hashlib
import itertools
import json
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from benchmarks.ttir_liger import commit, details
from verify.checking.arguments import Argument, Buffer, Scalar, dtype_name
from verify.checking.check import check
from verify.checking.report import verdict_name

EVERY = 50
"""Kernels after which the figures are written."""

CORE = ("in_bounds", "no_wrap", "write_once", "no_race")


def arguments_of(record: dict[str, Any]) -> dict[str, Argument]:
    """Return the arguments of a recorded launch."""
    refuse_overlaps(record["arguments"])
    found: dict[str, Argument] = {}
    addresses: dict[int, str] = {}
    sizes = {
        name: 1
        + sum(
            (size - 1) * step
            for size, step in zip(one["shape"], one["strides"], strict=True)
        )
        for name, one in record["arguments"].items()
        if "shape" in one
    }
    order = sorted(record["arguments"], key=lambda n: -sizes.get(n, 0))
    for name in order:
        one = record["arguments"][name]
        if "shape" in one:
            size = 0 if 0 in one["shape"] else sizes[name]
            shared = addresses.get(one["address"]) if size else None
            addresses.setdefault(one["address"], name)
            # what a kernel writes has other contents before; only inputs are promised
            span = one if name.startswith("in_ptr") else {}
            found[name] = Buffer(
                dtype_name(one["dtype"]),
                size,
                same_as=shared,
                low=span.get("low"),
                high=span.get("high"),
            )
        elif isinstance(one["value"], float):
            found[name] = Scalar("fp32")
        else:
            value = int(one["value"])
            kind = "i32" if abs(value) < 2**31 else "i64"
            found[name] = Scalar(kind, value, value)
    return found


def refuse_overlaps(arguments: dict[str, Any]) -> None:
    """Refuse tensors that share a part of their memory but not its start.

    Raises:
        ValueError: two do; the checker has no words for that.
    """
    spans = []
    for name, one in arguments.items():
        if "shape" not in one or 0 in one["shape"]:
            continue
        last = sum(
            (size - 1) * step
            for size, step in zip(one["shape"], one["strides"], strict=True)
        )
        width = _BYTES.get(one["dtype"].removeprefix("torch."), 8)
        spans.append((one["address"], one["address"] + (last + 1) * width, name))
    spans.sort()
    for first, second in itertools.pairwise(spans):
        if second[0] != first[0] and second[0] < first[1]:
            raise ValueError(f"{first[2]} and {second[2]} overlap")


_BYTES = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "bfloat16": 2,
    "float16": 2,
} | dict.fromkeys(("int32", "float32"), 4)


def examine(record: dict[str, Any], budget: float, timeout: float) -> dict[str, Any]:
    """Check one kernel."""
    started = time.process_time()
    report = check(
        record["ttir"],
        arguments_of(record),
        grid=tuple(record["grid"]),
        budget=budget,
        timeout=timeout,
    )
    seconds = time.process_time() - started
    report = replace(
        report, verdicts={o: believed(v) for o, v in report.verdicts.items()}
    )
    found: dict[str, Any] = {
        **name_of(record),
        "lines": record["ttir"].count("\n"),
        "verdict": verdict_name(report.verdict),
        "core": all(isinstance(report[o], Proved) for o in CORE),
        "condition": report.precondition,
        "cpu_seconds": round(seconds, 4),
    }
    if not isinstance(report.verdict, Proved):
        found["detail"] = details(report)
    if any(isinstance(v, Refuted) for v in report.verdicts.values()):
        found["refuted"] = [
            o for o, v in report.verdicts.items() if isinstance(v, Refuted)
        ]
    return found


def believed(verdict: Verdict) -> Verdict:
    """Return a verdict; indices that another kernel computed refute nothing."""
    if isinstance(verdict, Refuted):
        held = verdict.counterexample.contents
        if held:
            return Unknown(f"it depends on the contents of {', '.join(held)}")
    return verdict


def name_of(record: dict[str, Any]) -> dict[str, Any]:
    """Return what tells a case from others."""
    names = ("model", "training", "configuration", "kernel")
    text = json.dumps([record["ttir"], record["grid"]])
    return {
        **{name: record.get(name, 0) for name in names},
        "digest": hashlib.sha256(text.encode()).hexdigest()[:12],
    }


def judged(record: dict[str, Any], budget: float, timeout: float) -> dict[str, Any]:
    """Check one kernel; what cannot be used is an unknown."""
    try:
        return examine(record, budget, timeout)
    except ValueError as error:
        return {
            **name_of(record),
            "verdict": "unknown",
            "core": False,
            "detail": {"error": str(error)[:300]},
        }


def inputs_of(paths: list[Path], first: bool) -> list[dict[str, Any]]:
    """Return the recorded launches, the first configuration of each kernel first."""
    found: list[dict[str, Any]] = []
    for path in paths:
        with gzip.open(path, "rt") as file:
            found += [json.loads(line) for line in file]
    if first:
        found = [one for one in found if one.get("configuration", 0) == 0]
    return sorted(found, key=lambda one: int(one.get("configuration", 0) > 0))


def figures(records: list[dict[str, Any]], left: int) -> dict[str, Any]:
    """Return the figures of what was checked."""
    times = sorted(r["cpu_seconds"] for r in records if "cpu_seconds" in r)
    proved = [r for r in records if r["verdict"] == "proved"]
    models = {}
    for name in dict.fromkeys(r["model"] for r in records):
        mine = [r for r in records if r["model"] == name]
        models[name] = {
            "kernels": len({r["kernel"] for r in mine}),
            "cases": len(mine),
            "proved": sum(r["verdict"] == "proved" for r in mine),
        }
    return {
        "models": models,
        "cases": len(records),
        "not_reached": left,
        "verdicts": dict(Counter(r["verdict"] for r in records)),
        "proved_share": round(len(proved) / max(1, len(records)), 4),
        "core_share": round(sum(r["core"] for r in records) / max(1, len(records)), 4),
        "cpu_seconds": {
            "p50": times[len(times) // 2],
            "p95": times[int(len(times) * 0.95)],
            "max": times[-1],
        },
        "not_proved": [r for r in records if r["verdict"] != "proved"],
        # to go on with
        "records": [json.dumps(r) for r in records] if left else [],
    }


def main() -> int:
    """Check, print, write, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--timeout", type=float, default=20.0, help="of a question")
    parser.add_argument("--first", action="store_true", help="configuration only")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="in all")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--commit", help="recorded where git is not at hand")
    options = parser.parse_args()
    measured = options.commit or commit()
    deadline = time.monotonic() + options.seconds
    versions = options.texts[0].parent / "versions.json"
    inputs = inputs_of(options.texts, options.first)
    records: list[dict[str, Any]] = []
    if options.json and options.json.exists():
        before = json.loads(options.json.read_text())
        if before["commit"] == measured:
            records = [json.loads(one) for one in before["records"]]
    done = {(record["model"], record["digest"]) for record in records}
    result: dict[str, Any] = {}
    for one in inputs:
        if (one["model"], name_of(one)["digest"]) in done:
            continue
        if time.monotonic() > deadline:
            break
        record = judged(one, options.budget, options.timeout)
        records.append(record)
        note = record.get("condition") or str(record.get("detail", ""))[:160]
        if record["verdict"] != "proved":
            print(f"{one['model']:<16} {one['kernel'][:60]:<60} {note}", flush=True)
        if len(records) % EVERY == 0 or len(records) == len(inputs):
            result = {
                "question": "How many of Inductor's kernels are proved?",
                "command": "python benchmarks/ttir_inductor.py",
                "commit": measured,
                "collected": json.loads(versions.read_text())
                if versions.exists()
                else {},
                **figures(records, len(inputs) - len(records)),
            }
            if options.json:
                options.json.write_text(json.dumps(result, indent=1) + "\n")
    hidden = ("not_proved", "records")
    print(json.dumps({k: v for k, v in result.items() if k not in hidden}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
