"""Run each file of ``tests/found/finds`` in clean processes, and count how it fails.

    python benchmarks/found.py --times 20 --path pycute=/somewhere/pycute

``hunt`` wrote the files; a find is confirmed if its file fails every time. Each run has
a process of its own, which parted from one that had only imported the library (and, for
Inductor, compiled a sum); built C++ may be shared between runs, no compiled graph is.
The folder's name says which library it needs, ``--path`` where that lies if it is not
installed. The answer goes to ``benchmarks/results/found.json``; a file whose
answer is there already, for the same text and number of runs, is not run again.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FINDS = ROOT / "tests" / "found" / "finds"
OUT = ROOT / "benchmarks" / "results" / "found.json"


IMPORTS = {
    "cute_dsl": "cutlass.cute",
    "inductor": "torch._inductor.compile_fx",
    "pycute": "pycute.swizzle",
    "tensor_layouts": "tensor_layouts.analysis",
    "torch_pycute": "torch.distributed._pycute",
}
"""Folder -> what its processes import before they part; else PyTorch and Triton."""

ZYGOTE = """
import importlib, os, runpy, sys
names, times, files = sys.argv[1].split(","), int(sys.argv[2]), sys.argv[3:]
for name in names:
    importlib.import_module(name)
if "torch._inductor.compile_fx" in names:
    import torch
    torch.compile(lambda x: x + 1)(torch.ones(4))
for file in files:
    failed = 0
    for _ in range(times):
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            made = runpy.run_path(file)
            try:
                [made[name]() for name in made if name.startswith("test_")]
            except BaseException:
                os._exit(1)
            os._exit(0)
        failed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    print(failed, flush=True)
"""
"""Runs files in processes that share nothing but the imports."""


def runs(folder: str, files: Sequence[Path], path: str, times: int) -> Iterator[int]:
    """Yield in how many of some processes of its own each file fails."""
    environment = {**os.environ, "TORCHINDUCTOR_FX_GRAPH_CACHE": "0"}
    environment["TORCHINDUCTOR_AUTOGRAD_CACHE"] = "0"
    environment |= {"PYTHONPATH": path, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    if folder.startswith("triton_interpreter"):
        environment["TRITON_INTERPRET"] = "1"
    names = IMPORTS.get(folder, "torch,triton")
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", ZYGOTE, names, str(times), *map(str, files)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    for _ in files:
        line = process.stdout.readline().strip()
        yield int(line) if line.isdigit() else 0
    process.wait()


def facts(file: Path) -> dict[str, str]:
    """Return what a file says of itself."""
    text = file.read_text()
    found = {"title": text.splitlines()[0].removeprefix('"""')}
    for name, pattern in (
        ("seen", r"^Seen: (.*)$"),
        ("versions", r"^Versions: (.*)\.$"),
        ("found by", r"^Found by (.*)\.$"),
    ):
        match = re.search(pattern, text, re.MULTILINE)
        found[name] = match.group(1) if match else ""
    return found


def main() -> None:
    """Run what has not been run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--only", default="", help="folders, by commas")
    parser.add_argument("--path", action="append", default=[], help="folder=path")
    given = parser.parse_args()
    paths = dict(pair.split("=", 1) for pair in given.path)
    known = json.loads(OUT.read_text())["finds"] if OUT.is_file() else {}
    chosen = [name for name in given.only.split(",") if name]
    for folder in sorted(path.name for path in FINDS.iterdir() if path.is_dir()):
        if chosen and folder not in chosen:
            continue
        waiting = []
        for file in sorted((FINDS / folder).glob("test_*.py")):
            before = known.get(f"{folder}/{file.name}", {})
            same = before.get("sha256") == digest(file)
            if not same or before.get("runs") != given.times:
                waiting.append(file)
        answers = runs(folder, waiting, paths.get(folder, ""), given.times)
        for file, failed in zip(waiting, answers, strict=False):
            key = f"{folder}/{file.name}"
            known[key] = {
                **facts(file),
                "sha256": digest(file),
                "runs": given.times,
                "failed": failed,
            }
            if OUT.is_file():  # another run may have answered meanwhile
                known = {**json.loads(OUT.read_text())["finds"], key: known[key]}
            text = json.dumps({"finds": dict(sorted(known.items()))}, indent=1)
            OUT.write_text(text + "\n")
            title = known[key]["title"]
            print(f"{failed:3} of {given.times}  {key}  {title}", flush=True)


def digest(file: Path) -> str:
    """Return what tells one text from another."""
    return sha256(file.read_bytes()).hexdigest()[:16]


if __name__ == "__main__":
    main()
