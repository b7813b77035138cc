"""What runs in a subject's process: a JSON case a line in, a JSON answer a line out.

Standard output belongs to the protocol; whatever the subject prints goes to standard
error. The parent may find this process dead, silent or late, and starts another.
"""

import json
import os
import sys
import threading
import time


def die_with_parent() -> None:
    """End this process soon after its parent has ended, whatever it is doing."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Answer cases until standard input ends."""
    die_with_parent()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    import torch

    from compiler.torch_api import forgo_guard_timing

    from .case import from_json
    from .subjects import run

    torch.set_num_threads(1)
    forgo_guard_timing()
    answers.write(json.dumps({"status": "ready"}) + "\n")
    for line in sys.stdin:
        start, busy = time.perf_counter(), time.process_time()
        try:
            answer = run(from_json(json.loads(line)))
        except Exception as error:
            answer = {
                "status": "broken",
                "kind": type(error).__name__,
                "detail": str(error)[:2000],
            }
        answer["seconds"] = time.perf_counter() - start
        answer["processor"] = time.process_time() - busy
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
