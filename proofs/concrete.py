"""Theorems about instances: every recorded encoding is its legacy formula.

One theorem a kind. For each vector the layout of the algebra is the one that the wheel
computed, and equals the index formula at every position.
"""

import time

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from verify.equivalence import prove_encoding

from .recorded import KINDS, vectors_of
from .theorem import Theorem

_NAMES = {
    "blocked": "blocked_layout_is_its_index_formula",
    "slice": "slice_layout_is_its_index_formula",
    "dot_operand": "dot_operand_layout_is_its_index_formula",
    "nvidia_mma_v2": "mma_v2_layout_is_its_index_formula",
    "nvidia_mma_v3": "mma_v3_layout_is_its_index_formula",
    "swizzled_shared": "swizzled_shared_layout_is_its_address_formula",
}


def prove_recorded(kind: str, timeout: float) -> Verdict:
    """Prove all recorded vectors of a kind.

    Args:
        kind: One of ``recorded.KINDS``.
        timeout: Limit of each proof [seconds].

    Returns:
        ``Proved`` with the number of cases and positions, or the first verdict that
        is something else.

    Example:
        >>> dict(prove_recorded("swizzled_shared", 10).facts)["cases"] >= 40
        True
    """
    start = time.perf_counter()
    solver_seconds = 0.0
    positions = largest = 0
    vectors = vectors_of(kind)
    for vector in vectors:
        layout = vector.layout()
        if not vector.agrees(layout):
            return Refuted(
                {
                    "encoding": repr(vector.encoding),
                    "shape": vector.shape,
                    "recorded": vector.bases,
                    "algebra": layout.bases,
                }
            )
        verdict = prove_encoding(
            vector.encoding,
            vector.shape,
            release=vector.release,
            timeout=timeout,
            layout=layout,
        )
        if isinstance(verdict, Refuted):
            return Refuted(
                {
                    "encoding": repr(vector.encoding),
                    "shape": vector.shape,
                    **verdict.counterexample,
                }
            )
        if isinstance(verdict, Unknown):
            return Unknown(f"{vector.encoding!r}, {vector.shape}: {verdict.reason}")
        solver_seconds += sum(
            fact for name, fact in verdict.facts if name.endswith("_seconds")
        )
        places = 1 << len(layout.columns)
        positions += places
        largest = max(largest, places)
    facts = (
        ("cases", len(vectors)),
        ("positions", positions),
        ("largest", largest),
        ("z3_seconds", round(solver_seconds, 4)),
        ("seconds", round(time.perf_counter() - start, 4)),
    )
    return Proved("z3", facts)


def _theorem(kind: str) -> Theorem:
    what = kind.replace("_", " ")

    def check(timeout: float) -> Verdict:
        return prove_recorded(kind, timeout)

    return Theorem(
        name=_NAMES[kind],
        statement=(
            f"For every recorded {what} encoding: the layout is the one that the wheel "
            "computed, and equals the index formula that Triton had before, at every "
            "register, lane, warp and block"
        ),
        scope=f"{len(vectors_of(kind))} recorded encodings, all positions of each",
        method="z3",
        source=f"proofs/vectors/{kind}.json; formula: verify/legacy",
        check=check,
        instances=len(vectors_of(kind)),
    )


def theorems() -> list[Theorem]:
    """Return the theorems about recorded encodings, one a kind.

    Example:
        >>> theorems()[0].name
        'blocked_layout_is_its_index_formula'
    """
    return [_theorem(kind) for kind in KINDS]
