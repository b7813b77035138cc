"""Record what a Triton wheel computes for a few hundred encodings, as package data.

    python -m proofs.record_vectors --seed 3 --cases 40

Writes ``proofs/vectors/<kind>.json``: encodings of the six modelled kinds, a shape, and
the bases that the wheel answers. The catalogue proves for each of them that the legacy
formula, our layout and the wheel's bases are the same map. Credit: Triton, MIT.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from verify.oracle import Case, Wheel, random_case
from verify.oracle.comparison import is_surjective, release_of

FOLDER = Path(__file__).with_name("vectors")

KINDS: dict[str, tuple[str, Callable[[Case], bool]]] = {
    "blocked": ("blocked", lambda case: True),
    "slice": ("slice", lambda case: _is_modelled(case.encoding)),
    "dot_operand": ("dot_operand", lambda case: _is_modelled(case.encoding)),
    "nvidia_mma_v2": ("nvidia_mma", lambda case: case.encoding["version"][0] == 2),
    "nvidia_mma_v3": ("nvidia_mma", lambda case: case.encoding["version"][0] == 3),
    "swizzled_shared": ("swizzled_shared", lambda case: True),
}
"""The six modelled kinds: which random kind makes them, and what they must be."""


def _is_modelled(encoding: dict[str, Any]) -> bool:
    """Say whether an encoding and all its parents are of the six kinds."""
    if encoding["kind"] in ("slice", "dot_operand"):
        return _is_modelled(encoding["parent"])
    return encoding["kind"] in ("blocked", "nvidia_mma")


def record(kind: str, wheel: Wheel, seed: int, cases: int) -> list[dict[str, Any]]:
    """Return ``cases`` vectors of one kind that the wheel has a surjective map for."""
    made, wanted = KINDS[kind]
    rng = Random(seed)
    vectors: list[dict[str, Any]] = []
    while len(vectors) < cases:
        chosen: list[Case] = []
        while len(chosen) < cases:
            case = random_case(rng, made)
            if wanted(case):
                chosen.append(case)
        jobs = [["encoding", case.encoding, list(case.shape)] for case in chosen]
        for case, answer in zip(chosen, wheel.ask(jobs), strict=True):
            bases = answer.get("value")
            if bases and is_surjective(bases, case.shape) and len(vectors) < cases:
                vectors.append(
                    {
                        "encoding": case.encoding,
                        "shape": list(case.shape),
                        "bases": bases,
                    }
                )
    return vectors


def main() -> None:
    """Write all files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--cases", type=int, default=40, help="of each kind")
    parser.add_argument("--triton", type=Path, help="folder of another wheel")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    with Wheel(options.triton) as wheel:
        version = wheel.version
        for kind in KINDS:
            vectors = record(kind, wheel, options.seed, options.cases)
            head = {
                "kind": kind,
                "triton": version,
                "release": release_of(version),
                "seed": options.seed,
            }
            lines = ",\n".join(json.dumps(vector) for vector in vectors)
            text = json.dumps(head)[:-1] + ', "vectors": [\n' + lines + "\n]}\n"
            (FOLDER / f"{kind}.json").write_text(text)


if __name__ == "__main__":
    main()
