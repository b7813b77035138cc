"""A failure as a pytest file that needs nothing but torch."""

import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import torch

from verify.oracle.rounding import expected

from .case import Case

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
    wanted = expected(case.program.function(), case.program.build)
    if wanted.error is not None:
        raise ValueError(f"eager mode fails: {wanted.error}")
    made = ", ".join(f"{k} {v}" for k, v in versions().items())
    detail = " ".join(str(answer.get("detail", "")).split())[:300]
    detail = detail.replace("\\", "/").replace('"""', "'''")
    lines = [
        f'"""{title}',
        "",
        f"Seen: {answer['status']} {answer.get('kind', '')}: {detail}",
        f"At fault: {diagnosis}.",
        f"Versions: {made}.",
        f"Found by `tilewright hunt --subject {case.subject}`, seed {case.seed}.",
        '"""',
        "",
        "import torch",
        f"import torch.nn.functional as F{UNUSED}",
        f"from torch import inf, nan{UNUSED}",
        "",
        "",
        case.program.source.rstrip(),
        "",
        "",
        "def inputs():",
    ]
    for key, spec in case.program.inputs.items():
        flat = spec.build().as_strided((spec.storage,), (1,), 0)
        lines.append(f"    {key} = {_literal(flat)}")
        if not spec.is_plain or len(spec.shape) != 1:
            lines.append(
                f"    {key} = {key}.as_strided({spec.shape}, {spec.strides}, "
                f"{spec.offset})"
            )
    device = f".to({case.device!r})" if case.device != "cpu" else ""
    given = ", ".join(f"{key}{device}" for key in case.program.inputs)
    lines += [f"    return [{given}]", "", "", "EXPECTED = ["]
    for value, bound, loose in zip(
        wanted.values, wanted.bounds, wanted.loose, strict=True
    ):
        slack = "0.0"
        if bound is not None:
            slack = _literal(bound.contiguous().flatten())
        keep = None if loose is None else (~loose).flatten().tolist()
        lines.append(
            f"    ({_literal(value.contiguous().flatten())}, {tuple(value.shape)}, "
            f"{value.stride()}, {slack}, {keep}),"
        )
    dynamic = ", dynamic=True" if case.dynamic else ""
    backend = repr(case.subject)
    if ":" in case.subject:
        module, _, backend = case.subject.partition(":")
        lines[lines.index("import torch")] = (
            f"import torch\nfrom {module} import {backend}"
        )
    lines += [
        "]",
        '"""Of each result, and of each input after the run: elements, shape, strides,',
        'how far rounding may move it, and which elements count (None: all)."""',
        "",
        "",
        f"def test_{name}():",
        "    given = inputs()",
        f"    compiled = torch.compile(program, backend={backend}{dynamic})",
        "    with torch.no_grad():",
        "        results = [*compiled(*given), *given]",
        "    got = [value for value in results if isinstance(value, torch.Tensor)]",
        "    assert len(got) == len(EXPECTED)",
        "    for value, (flat, shape, strides, slack, keep) in zip(got, EXPECTED):",
        "        value = value.cpu()",
        "        assert value.dtype == flat.dtype",
        "        assert tuple(value.shape) == shape",
        "        if value.numel():",
        "            sizes = zip(value.shape, value.stride(), strides)",
        "            assert all(n == 1 or a == b for n, a, b in sizes), value.stride()",
        "        value = value.contiguous().flatten()",
        "        off = (value.double() - flat.double()).abs()",
        "        both_nan = value.isnan() & flat.isnan()",
        "        right = (value == flat) | both_nan | (off <= slack)",
        "        if keep is not None:",
        "            right |= ~torch.tensor(keep)",
        "        assert right.all(), (value[~right], flat[~right])",
    ]
    return "\n".join(lines) + "\n"


def _literal(flat: torch.Tensor) -> str:
    """Return an expression for a flat tensor."""
    if flat.numel() > LITERAL:
        raise ValueError(f"{flat.numel()} elements are too many to write out")
    dtype = flat.dtype
    wide = flat.to(torch.float64) if dtype.is_floating_point else flat
    return f"torch.tensor({wide.tolist()!r}, dtype={dtype})"
