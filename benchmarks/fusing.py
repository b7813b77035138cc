"""Speed of the fusing compiler: ``--device cpu`` or ``--device cuda``."""

import sys
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

SUITES = {"cpu": "benchmarks.fusing_cpu", "cuda": "benchmarks.fusing_gpu"}


def main() -> int:
    """Hand the other arguments to the device's script."""
    arguments = sys.argv[1:]
    if arguments[:1] != ["--device"] or arguments[1:2][0] not in SUITES:
        print(f"usage: fusing.py --device {{{','.join(SUITES)}}} ...", file=sys.stderr)
        return 2
    found: int = import_module(SUITES[arguments[1]]).main(arguments[2:])
    return found


if __name__ == "__main__":
    raise SystemExit(main())
