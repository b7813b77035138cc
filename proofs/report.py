"""The catalogue as pages: every theorem in docs, one line a family in README.

The lines come from the records that ``tilewright prove --json`` prints, so nothing is
written by hand.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]

START = "<!-- catalogue: written by benchmarks/catalogue.py -->"
END = "<!-- end of catalogue -->"

FAMILIES = (
    ("blocked", "blocked layouts, 1 to 3 dims, every order"),
    ("slice", "slices of blocked and mma layouts"),
    ("fma_operand", "operands of FMA dot products"),
    ("mma_v", "NVIDIA mma v2 and wgmma: results, operands"),
    ("batched_mma", "NVIDIA mma v2 and wgmma: results, operands"),
    ("mfma", "AMD MFMA: results, operands"),
    ("wmma", "AMD WMMA: results, operands"),
    ("swizzled_shared", "swizzled shared memory, with the weakest precondition"),
    ("rotating_shared", "rotating shared memory, with the weakest precondition"),
    ("tensor_core_shared", "NVMMA shared memory, each swizzle width"),
    ("padded_shared", "padded shared memory is injective"),
)
MECHANISED = (
    "layouts, inverses, products, division, closure, kernels, conflicts, permutations, "
    "shuffles, blocked layouts of every rank, swizzles, padding, the derivative of expm"
)
OTHER_FAMILY = "lemmas: pieces of an index, clusters of blocks"


def family(record: Record) -> str:
    """Return the line of README that a theorem belongs to.

    Example:
        >>> family({"method": "z3 and bitwuzla", "name": "mfma_operand_a_is_linear"})
        'AMD MFMA: results, operands'
    """
    method = str(record["method"])
    if method == "Coq":
        return MECHANISED
    if method == "certificate of the swizzle":
        return "swizzles of real conversions are optimal"
    if "bitwuzla" not in method:
        return "recorded encodings equal Triton's own layouts and formulas"
    name = str(record["name"])
    return next(
        (words for key, words in FAMILIES if name.startswith(key)), OTHER_FAMILY
    )


def summary(records: Sequence[Record]) -> str:
    """Return the table of README: one line a family, in the catalogue's order.

    Args:
        records: What ``tilewright prove --json`` lists.

    Raises:
        ValueError: a theorem is not proved; the table would claim that it is.
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record["verdict"] != "proved":
            raise ValueError(f"{record['name']} is {record['verdict']}, not proved")
        groups.setdefault(family(record), []).append(record)
    lines = [
        "| proved | theorems | for | evidence | time |",
        "| --- | --- | --- | --- | --- |",
    ]
    for words, group in groups.items():
        seconds = sum(float(record["seconds"]) for record in group)
        lines.append(
            f"| {words} | {len(group)} | {bounds(group)} | {evidence(group)} | "
            f"{seconds:.1f} s |"
        )
    return "\n".join(lines)


def bounds(group: Sequence[Record]) -> str:
    """Return what a family is quantified over."""
    instances = max(int(_facts(record).get("instances", 0)) for record in group)
    if instances:
        return f"up to {instances:,} parameter sets, all positions"
    scopes = {str(record["scope"]) for record in group}
    if len(scopes) == 1:
        return scopes.pop()
    return "instances, all positions of each"


def evidence(group: Sequence[Record]) -> str:
    """Return how a family was checked, certificates counted."""
    method = str(group[0]["method"])
    checked = [
        record
        for record in group
        if str(_facts(record).get("certificate", "")).startswith("checked")
    ]
    if checked:
        return f"{method}; {len(checked)} certificates re-checked"
    return f"{method}, no axioms" if method == "Coq" else method


def page(records: Sequence[Record], machine: str) -> str:
    """Return the page that lists every theorem with its statement."""
    lines = [
        "# The catalogue of theorems",
        "",
        "Written by `benchmarks/catalogue.py` from `tilewright prove --json`: "
        + machine,
        "What is trusted: [trust.md](trust.md).",
        "",
    ]
    current = ""
    for record in records:
        if family(record) != current:
            current = family(record)
            lines += ["", f"## {current[0].upper()}{current[1:]}", ""]
        facts = _facts(record)
        lines.append(f"- **{record['name']}**: {_escaped(str(record['statement']))}")
        lines.append(f"  Scope: {_escaped(str(record['scope']))}.")
        detail = [str(record["method"]), *_times(facts)]
        if "certificate" in facts:
            detail.append(f"certificate {facts['certificate']}")
        lines.append(
            f"  {', '.join(detail)}. Source: {_escaped(str(record['source']))}."
        )
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def replaced(text: str, table: str) -> str:
    """Return a page with the part between the two markers replaced.

    Raises:
        ValueError: the markers are missing.

    Example:
        >>> replaced(f"a {START} old {END} b", "new").split()[-2:]
        ['-->', 'b']
    """
    if START not in text or END not in text:
        raise ValueError(f"the page needs the markers {START!r} and {END!r}")
    before, rest = text.split(START, 1)
    after = rest.split(END, 1)[1]
    return f"{before}{START}\n\n{table}\n\n{END}{after}"


def _facts(record: Record) -> Mapping[str, Any]:
    facts: Mapping[str, Any] = record.get("facts", {})
    return facts


def _times(facts: Mapping[str, Any]) -> list[str]:
    return [
        f"{name} {facts[f'{name}_seconds']:.2f} s"
        for name in ("z3", "bitwuzla")
        if f"{name}_seconds" in facts
    ]


def _escaped(text: str) -> str:
    return text.replace("*", "\\*").replace("<", "\\<").replace("_", "\\_")
