"""What runs in a library's process: JSON messages in, JSON answers out.

A message is ``{"library", "operation", "arguments"}``, a single case, or ``{"library",
"seed", "start", "stop", "seconds", "progress", "muted"}``, a batch: cases ``start`` to
``stop`` of the seed, until the time is over. The number of the case at work stands in
the file ``progress``, so that the parent knows at which one this process died.
"""

import ast
import json
import mmap
import os
import struct
import sys
import time
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .answer import judge
from .catalogue import library

KEPT = 3
"""Failures of one operation and kind that a batch tells of."""


def main() -> None:
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    answers.write(json.dumps({"status": "ready"}) + "\n")
    for line in sys.stdin:
        message = json.loads(line)
        if "operation" in message:
            operation = library(message["library"]).named(message["operation"])
            answer = judge(operation, ast.literal_eval(message["arguments"]))
        else:
            answer = batch(message)
        answers.write(json.dumps(answer) + "\n")


def batch(message: Mapping[str, Any]) -> dict[str, Any]:
    """Run the cases of a batch.

    Returns:
        ``status`` "done", ``next`` the first case that was not run, ``counts``
        operation -> status -> cases, ``failures``, and ``cpu``, the time of the
        processor [seconds].
    """
    source = library(message["library"])
    muted = set(message["muted"])
    end = time.monotonic() + message["seconds"]
    start = time.process_time()
    counts: dict[str, Counter[str]] = {}
    failures: list[dict[str, Any]] = []
    kept: Counter[tuple[str, str]] = Counter()
    number = int(message["start"])
    with Path(message["progress"]).open("r+b") as file:
        place = mmap.mmap(file.fileno(), 8)
        while number < message["stop"] and time.monotonic() < end:
            struct.pack_into("q", place, 0, number)
            operation, arguments = source.draw(message["seed"], number)
            number += 1
            if operation.name in muted:
                continue
            answer = judge(operation, arguments)
            status = answer["status"]
            counts.setdefault(operation.name, Counter())[status] += 1
            if status not in ("mismatch", "error"):
                continue
            sign = operation.name, f"{status} {answer['kind']}"
            kept[sign] += 1
            if kept[sign] <= KEPT:
                failures.append(
                    {
                        "number": number - 1,
                        "operation": operation.name,
                        "arguments": repr(arguments),
                        "answer": answer,
                    }
                )
        place.close()
    return {
        "status": "done",
        "next": number,
        "counts": counts,
        "failures": failures,
        "cpu": time.process_time() - start,
    }


if __name__ == "__main__":
    main()
