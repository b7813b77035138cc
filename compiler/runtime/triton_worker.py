"""A process that compiles Triton kernels into Triton's cache, one line a job.

It runs as a script, without the package around it and without torch, so it is up in
the time that Triton takes to load.
"""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any


def load_module(path: str, name: str) -> Any:
    """Return what a module file calls ``name``."""
    spec = importlib.util.spec_from_file_location(f"tilewright_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def main() -> None:
    """Say when it is up, then answer each line of JSON: "" or an error's text."""
    api = Path(__file__).resolve().parents[1] / "triton_api.py"
    compile_printed = load_module(str(api), "compile_printed")
    prepare_launcher = load_module(str(api), "prepare_launcher")
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        try:
            if "launcher" in job:
                prepare_launcher(job["launcher"])
            else:
                function = load_module(job["path"], job["name"])
                compile_printed(function, **job["arguments"])
            answer = ""
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
