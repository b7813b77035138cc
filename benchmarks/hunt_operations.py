r"""Which operators of real models do the drawn programs reach?

    python benchmarks/hunt_operations.py --table docs/hunt_operations.md \
        --json benchmarks/results/hunt_operations.json

Sixteen transformer and thirteen vision models, traced in inference and training with
Inductor's decompositions, came to 105 operators of ATen and prims; those of them that
are known by name stand below, by family. Each row of the table of operations is filled
on fixed tensors, run forward, and backward where it has gradients, with and without the
same decompositions; the operators of the traced graphs are what the row reaches.
"""

import argparse
import json
import subprocess
import sys
import warnings
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from torch.fx.experimental.proxy_tensor import make_fx

from verify.oracle.outcome import slopes
from verify.strategies.programs import EXPRESSIONS, FAMILIES, STATEMENTS, Program
from verify.strategies.programs.scope import Scope
from verify.strategies.tensors import TensorSpec, contiguous

MODELS = {
    "views": "view permute unsqueeze squeeze expand slice select alias split "
    "split_with_sizes unbind as_strided repeat",
    "pointwise": "add sub mul div neg eq ne lt le gt ge where exp log log1p erf tanh "
    "sigmoid sin cos sqrt rsqrt reciprocal pow relu clamp clamp_min clamp_max abs sign "
    "ceil floor fmod maximum minimum bitwise_and bitwise_or bitwise_not logical_and "
    "logical_or logical_not convert_element_type fma copy clone",
    "reductions and scans": "sum mean amax any var_mean cumsum "
    "low_memory_max_pool_with_offsets avg_pool2d",
    "creation": "full scalar_tensor iota empty rand bernoulli new_empty_strided",
    "gather and scatter": "index gather embedding index_put scatter scatter_add "
    "slice_scatter select_scatter as_strided_scatter "
    "unsafe_masked_index_put_accumulate",
    "other": "cat constant_pad_nd lift_fresh_copy copy_",
    "library calls": "mm addmm bmm convolution convolution_backward "
    "scaled_dot_product_flash_attention_for_cpu "
    "scaled_dot_product_flash_attention_for_cpu_backward sort topk histc "
    "avg_pool2d_backward grouped_mm",
}
"""Family -> operators, without overloads, namespaces and leading underscores."""

SHAPES: dict[str, tuple[tuple[int, ...], torch.dtype]] = {
    "x0": ((4, 4), torch.float32),
    "x1": ((2, 4, 4, 4), torch.float32),
    "x2": ((2, 3, 4), torch.float32),
    "x3": ((4, 4), torch.int64),
    "x4": ((4, 4), torch.bool),
    "x5": ((4,), torch.float32),
    "x6": ((4, 4), torch.float32),
}


def main() -> int:
    """Trace, print, write; exit status 1 if an operator is out of reach."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--examples", type=int, default=6, help="of each row")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--commit", help="recorded where git is not at hand")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    reached: dict[str, set[str]] = defaultdict(set)
    empty = []
    for name in {**EXPRESSIONS, **STATEMENTS}:
        found: set[str] = set()
        for program in drawn(name, options.examples):
            found |= operators(program)
        for operator in found:
            reached[operator].add(name)
        if not found:
            empty.append(name)
    wanted = {family: names.split() for family, names in MODELS.items()}
    missing = [n for names in wanted.values() for n in names if n not in reached]
    facts = {
        "question": "operators of models that drawn programs reach",
        "commit": options.commit or commit(),
        "versions": {"torch": torch.__version__},
        "rows": len(EXPRESSIONS) + len(STATEMENTS),
        "rows_by_family": {family: len(names) for family, names in FAMILIES.items()},
        "rows_without_a_trace": empty,
        "operators_of_models": sum(len(names) for names in wanted.values()),
        "missing": missing,
        "operators_reached": len(reached),
        "by": {
            family: {name: sorted(reached.get(name, ()))[:4] for name in names}
            for family, names in wanted.items()
        },
    }
    print(
        f"{facts['operators_of_models']} operators of models, missing: "
        f"{', '.join(missing) or 'none'}; {len(reached)} by {facts['rows']} rows"
    )
    if options.json is not None:
        options.json.write_text(json.dumps(facts, indent=1) + "\n")
    if options.table is not None:
        options.table.write_text(table(facts))
    return 1 if missing else 0


def drawn(name: str, count: int) -> list[Program]:
    """Return programs of one statement, a row of the table, on fixed tensors."""
    specs = {
        key: TensorSpec(
            shape,
            contiguous(shape),
            0,
            dtype,
            "normal",
            requires_grad=dtype.is_floating_point,
        )
        for key, (shape, dtype) in SHAPES.items()
    }
    found: list[Program] = []
    template = STATEMENTS.get(name) or EXPRESSIONS[name]

    @seed(0)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def each(data: st.DataObject) -> None:
        scope = Scope({key: spec.build() for key, spec in specs.items()})
        text = scope.fill(data.draw, template)
        if text is not None:
            made = name not in STATEMENTS
            line, result = (f"v0 = {text}", "v0") if made else (text, "x0")
            found.append(Program(specs, (line,), (result,), (name,), scope.objects))

    each()
    return found


def operators(program: Program) -> set[str]:
    """Return the operators of a program's graph, and of its gradients' graph."""
    import torch._inductor.lowering  # registers what the table needs
    from torch._inductor.decomposition import select_decomp_table

    function = program.function()
    given = program.build()
    tensors, objects = given[: len(SHAPES)], given[len(SHAPES) :]

    def forward(*inputs: torch.Tensor) -> Any:
        copies = [one.detach().clone() for one in inputs]
        with torch.no_grad():
            return function(*copies, *objects)

    def both(*inputs: torch.Tensor) -> Any:
        return slopes(function(*inputs, *objects), [*inputs, *objects])

    found: set[str] = set()
    tables: tuple[Any, ...] = ({}, select_decomp_table())
    for one, parts in product((forward, both), tables):
        try:
            traced = make_fx(one, decomposition_table=parts)(*tensors)
        except Exception:  # no gradients, or not traceable on its own
            continue
        for node in traced.graph.nodes:
            if node.op == "call_function" and hasattr(node.target, "_schema"):
                full = node.target._schema.name
                found.add(full.partition("::")[2].lstrip("_"))
    return found


def table(facts: dict[str, Any]) -> str:
    """Return the page: each operator of models, and rows that reach it."""
    lines = [
        "# Operators that drawn programs reach",
        "",
        "Written by `benchmarks/hunt_operations.py`, which says how it was counted; "
        "torch " + facts["versions"]["torch"] + ".",
        "",
        f"Of {facts['operators_of_models']} operators that real models need, "
        f"{facts['operators_of_models'] - len(facts['missing'])} are reached by the "
        f"{facts['rows']} rows of the table of operations; not reached: "
        f"{', '.join(facts['missing']) or 'none'}. In all, "
        f"{facts['operators_reached']} operators are.",
        "",
    ]
    for family, by in facts["by"].items():
        lines += [
            f"## {family.capitalize()}",
            "",
            "| operator | rows |",
            "| --- | --- |",
        ]
        lines += [
            f"| `{name}` | {', '.join(f'`{row}`' for row in rows) or 'none'} |"
            for name, rows in by.items()
        ]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def commit() -> str:
    """Return the commit of this checkout."""
    words = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
