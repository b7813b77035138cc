"""A failure as a pytest file that needs nothing but torch."""

import ast
import inspect
import platform
from collections.abc import Callable, Mapping
from functools import partial
from importlib import metadata
from typing import Any

import torch

from verify.oracle.outcome import leaves, outcome, seed_generators, slopes
from verify.oracle.rounding import Expected, expected
from verify.strategies.tensors import TensorSpec, homes, memories

from .case import Case
from .subjects import PARITY, open_places

LITERAL = 4096
"""Elements that are written out."""

UNUSED = "  # " + "noqa: F401 - a program may use it"


def versions() -> dict[str, str]:
    """Return what a failure depends on."""
    found = {"python": platform.python_version(), "torch": torch.__version__}
    for name in ("triton", "numpy"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "none"
    return found


def write(
    name: str, case: Case, answer: Mapping[str, Any], diagnosis: str, title: str
) -> str:
    """Return the text of a test that fails as long as the fault is there.

    Args:
        name: Part of the test's name.
        case: The shrunk case.
        answer: What became of it.
        diagnosis: The stage at fault.
        title: One line: subject and symptom.
    """
    program = case.program
    wanted = [_expected(case, call) for call in range(program.calls)]
    made = ", ".join(f"{k} {v}" for k, v in versions().items())
    detail = " ".join(str(answer.get("detail", "")).split())[:300]
    detail = detail.replace("\\", "/").replace('"""', "'''")
    module, colon, backend = case.subject.partition(":")
    plain = not program.objects and not program.gradients
    plain &= all(isinstance(v, torch.Tensor) for one in wanted for v in one.values)
    lines = [
        f'"""{title}',
        "",
        f"Seen: {answer['status']} {answer.get('kind', '')}: {detail}",
        f"At fault: {diagnosis}.",
        f"Versions: {made}.",
        f"Found by `tilewright hunt --subject {case.subject}`, seed {case.seed}.",
        '"""',
        "",
        *([] if plain else ["import warnings", ""]),
        "import torch",
        *([f"from {module} import {backend}"] if colon else []),
        f"import torch.nn.functional as F{UNUSED}",
        f"from torch import inf, nan{UNUSED}",
        "",
        "",
        program.source.rstrip(),
        "",
        "",
    ]
    if not plain:
        parts = (leaves, seed_generators, outcome, slopes)
        lines += [_without_annotations(part) for part in parts]
    calls = [program.inputs, *program.others]
    for number, specs in enumerate(calls):
        lines += _inputs(case, specs, number)
    names = ", ".join(f"inputs{number}" for number in range(len(calls)))
    lines += [f"CALLS = [{names}]", "EXPECTED = ["]
    for one in wanted:
        lines += ["    [", *(f"        {row}" for row in _rows(one)), "    ],"]
    lines += [
        "]",
        '"""Of each call, of each result and each argument after the run: elements,',
        "shape, strides, how far rounding may move it, and which elements count",
        '(None: all)."""',
        "",
        "",
        f"def test_{name}():",
        f"    compiled = {_compiled(case, backend if colon else None)}",
        "    for inputs, expected in zip(CALLS, EXPECTED):",
        "        given = inputs()",
    ]
    if plain:
        lines += [
            "        with torch.no_grad():",
            "            results = [*compiled(*given), *given]",
            "        got = [one for one in results if isinstance(one, torch.Tensor)]",
        ]
    else:
        run = f"outcome(compiled, given, gradients={program.gradients})"
        lines += [f"        got = [leaf for _, leaf in {run}]"]
    if answer.get("kind") == "seed":
        again = f"outcome(compiled, inputs(), gradients={program.gradients})"
        if plain:
            again = "enumerate([*compiled(*inputs())])"
        lines += [
            "        torch.manual_seed(0)",
            f"        first = [leaf for _, leaf in {again}]",
            "        torch.manual_seed(0)",
            f"        second = [leaf for _, leaf in {again}]",
            "        for a, b in zip(first, second):",
            "            assert torch.equal(a.nan_to_num(), b.nan_to_num())",
        ]
    if answer.get("kind") == "aliasing":
        pairs = [sorted(one.shared) for one in wanted]
        lines += [
            f"        shared = {pairs}[CALLS.index(inputs)]",
            "        where = [",
            "            one.untyped_storage().data_ptr()",
            "            if isinstance(one, torch.Tensor) and one.numel()",
            "            else None",
            "            for one in got",
            "        ]",
            "        found = [(where.index(w), n) for n, w in enumerate(where)",
            "                 if w is not None and where.index(w) < n]",
            "        assert sorted(found) == shared, found",
        ]
    lines += CHECKS
    return "\n".join(lines) + "\n"


CHECKS = [
    "        assert len(got) == len(expected)",
    "        for value, wanted in zip(got, expected):",
    "            if isinstance(wanted, str):",
    "                assert value == wanted",
    "                continue",
    "            flat, shape, strides, slack, keep = wanted",
    "            value = value.detach().cpu()",
    "            assert value.dtype == flat.dtype",
    "            assert tuple(value.shape) == shape",
    "            if value.numel():",
    "                sizes = zip(value.shape, value.stride(), strides)",
    "                assert all(n == 1 or a == b for n, a, b in sizes), value.stride()",
    "            value = value.contiguous().flatten()",
    "            off = (value.double() - flat.double()).abs()",
    "            both_nan = value.isnan() & flat.isnan()",
    "            right = (value == flat) | (off <= slack)",
    "            if isinstance(slack, float):",
    "                right &= value.signbit() == flat.signbit()",
    "            right |= both_nan",
    "            if keep is not None:",
    "                right |= ~torch.tensor(keep)",
    "            assert right.all(), (value[~right], flat[~right])",
]
"""What a test file does with what it got; a slack of 0.0 asks for the sign of zero."""


def _expected(case: Case, call: int) -> Expected:
    program = case.program
    found = expected(
        program.function(),
        partial(program.build, call=call),
        gradients=program.gradients,
        random=open_places(case),
    )
    if found.error is not None:
        raise ValueError(f"eager mode fails: {found.error}")
    return found


def _compiled(case: Case, backend: str | None) -> str:
    options = PARITY.get(case.subject) if case.has_parity else None
    parts = ["program", f"backend={backend or repr(case.subject)}"]
    if case.subject == "dynamo":
        parts[1] = "backend='eager'"
    if case.dynamic:
        parts.append("dynamic=True")
    if options is not None:
        parts.append(f"options={options}")
    return f"torch.compile({', '.join(parts)})"


def _inputs(case: Case, specs: Mapping[str, TensorSpec], number: int) -> list[str]:
    lines = [f"def inputs{number}():"]
    home, storages = homes(specs), memories(specs)
    for key, spec in specs.items():
        if home[key] == key:
            lines.append(f"    {key} = {_literal(storages[key])}")
        count = len(storages[home[key]])
        if home[key] != key or not spec.is_plain or spec.shape != (count,):
            lines.append(
                f"    {key} = {home[key]}.as_strided({spec.shape}, {spec.strides}, "
                f"{spec.offset})"
            )
        if case.device != "cpu":
            lines.append(f"    {key} = {key}.to({case.device!r})")
        if spec.requires_grad:
            lines.append(f"    {key}.requires_grad_()")
    for key, text in case.program.objects.items():
        lines.append(f"    {key} = {text.replace('CALL', str(number))}")
    names = ", ".join([*specs, *case.program.objects])
    return [*lines, f"    return [{names}]", "", ""]


def _rows(wanted: Expected) -> list[str]:
    rows = []
    zeros = wanted.zeros or (None,) * len(wanted.values)
    for value, bound, loose, either in zip(
        wanted.values, wanted.bounds, wanted.loose, zeros, strict=True
    ):
        if not isinstance(value, torch.Tensor):
            rows.append(f"{value!r},")
            continue
        slack = "0.0"
        if bound is None and either is not None:
            bound = torch.zeros(value.shape, dtype=torch.float64)
        if bound is not None:
            slack = _literal(bound.contiguous().flatten())
        keep = None if loose is None else (~loose).flatten().tolist()
        rows.append(
            f"({_literal(value.contiguous().flatten())}, {tuple(value.shape)}, "
            f"{value.stride()}, {slack}, {keep}),"
        )
    return rows


def _without_annotations(function: Callable[..., Any]) -> str:
    """Return the text of a function of :mod:`verify.oracle.outcome`, to be copied."""
    tree = ast.parse(inspect.getsource(function))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            given = node.args
            for one in [*given.args, *given.kwonlyargs, *given.posonlyargs]:
                one.annotation = None
            if ast.get_docstring(node):
                first = str(ast.get_docstring(node)).partition("\n")[0]
                node.body[0] = ast.Expr(ast.Constant(first))
        for _, body in ast.iter_fields(node):
            if isinstance(body, list):
                for place, inner in enumerate(body):
                    if isinstance(inner, ast.AnnAssign) and inner.value is not None:
                        assign = ast.Assign([inner.target], inner.value)
                        body[place] = ast.copy_location(assign, inner)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n\n"


def _literal(flat: torch.Tensor) -> str:
    """Return an expression for a flat tensor."""
    if flat.numel() > LITERAL:
        raise ValueError(f"{flat.numel()} elements are too many to write out")
    dtype = flat.dtype
    wide = flat.to(torch.float64) if dtype.is_floating_point else flat
    return f"torch.tensor({wide.tolist()!r}, dtype={dtype})"
