"""What runs in a wheel's process: the text of a Gluon module in, PTX out.

Run as a script. Reads one JSON list of jobs a line from stdin and answers one JSON line
a job. A job is ``["compile", text, kernel, {parameter: type}, warps, arch]`` or
``["version"]``; an answer is ``{"error": text}`` or ``{"value": {"ptx": text, "cubin":
base64, "shared": bytes}}``.
"""

import base64
import importlib.util
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.experimental.gluon._runtime import GluonASTSource


def compile_module(
    text: str, kernel: str, signature: dict[str, str], warps: int, arch: int
) -> dict[str, Any]:
    """Compile one kernel of a module for an NVIDIA GPU that need not be there."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("module", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        source = GluonASTSource(
            fn=getattr(module, kernel),
            signature=signature,
            constexprs={},
            attrs={
                (position,): [["tt.divisibility", 16]]
                for position, type_name in enumerate(signature.values())
                if type_name.startswith("*")
            },
        )
        compiled = triton.compile(
            source,
            target=GPUTarget("cuda", arch, 32),
            options={"num_warps": warps},
        )
    return {
        "ptx": compiled.asm["ptx"],
        "cubin": base64.b64encode(compiled.asm["cubin"]).decode(),
        "shared": compiled.metadata.shared,
    }


def answer(job: list[Any]) -> dict[str, Any]:
    """Return the answer to one job."""
    try:
        if job[0] == "version":
            return {"value": triton.__version__}
        return {"value": compile_module(*job[1:])}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {str(error)[:2000]}"}


def main() -> None:
    """Answer jobs until stdin ends."""
    warnings.simplefilter("ignore")
    # a wheel of another version must not find what this one has compiled
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        out = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        for line in sys.stdin:
            for job in json.loads(line):
                out.write(json.dumps(answer(job)) + "\n")
                out.flush()


if __name__ == "__main__":
    main()
