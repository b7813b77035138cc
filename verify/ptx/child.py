"""What runs in a wheel's process: TTGIR text in, PTX text out, nothing of ours.

Run as a script. Reads one JSON list of jobs a line from stdin and answers one JSON line
a job. A job is ``["ptx", text, arch]`` or ``["version"]``; an answer is
``{"value": {"ptx": text, "shared": bytes, "seconds": time}}`` or ``{"error": text}``.
"""

import json
import os
import sys
import tempfile
import time
import warnings
from typing import Any

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import IRSource, make_backend


def compile_text(text: str, arch: int) -> dict[str, Any]:
    """Return the PTX of a TTGIR module, and its shared memory [bytes]."""
    started = time.perf_counter()
    target = GPUTarget("cuda", arch, 32)
    backend = make_backend(target)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "conversion.ttgir")
        with open(path, "w") as file:
            file.write(text)
        context = ir.context()
        source = IRSource(path, context, backend)
    options = backend.parse_options({"enable_fp_fusion": True})
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, source.language)
    module = source.make_ir(
        target,
        options,
        backend.get_codegen_implementation(options),
        backend.get_module_map(),
        context,
    )
    metadata: dict[str, Any] = {}
    for name in ("llir", "ptx"):
        module = stages[name](module, metadata)
    return {
        "ptx": module,
        "shared": metadata["shared"],
        "seconds": time.perf_counter() - started,
    }


def answer(job: list[Any]) -> dict[str, Any]:
    """Return the answer to one job."""
    try:
        if job[0] == "version":
            return {"value": triton.__version__}
        return {"value": compile_text(job[1], job[2])}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {str(error)[:160]}"}


def main() -> None:
    """Answer jobs until stdin ends."""
    warnings.simplefilter("ignore")
    # whatever else the wheel prints must not mix with the answers
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        for job in json.loads(line):
            out.write(json.dumps(answer(job)) + "\n")
            out.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
