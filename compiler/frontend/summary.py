"""What a trace says about a schedule: who moves which bytes."""

from collections.abc import Mapping, Sequence
from typing import Any

from algebra.verdict import Unknown
from compiler.ir.expression import Expression
from compiler.ir.index import constant_value
from compiler.ir.kernel import Allocate, Kernel, Schedule
from compiler.ir.node import Alias, Buffer, Extern, Reference
from compiler.runtime.built import Built

from .validator import Certificate

_BYTES = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "float32": 4,
}


def buffer_bytes(buffer: Buffer) -> int | None:
    """Return how much memory an array's elements take, None for an unknown size."""
    total = _BYTES.get(buffer.dtype, 8)
    for extent in buffer.shape:
        known = constant_value(extent)
        if known is None:
            return None
        total *= known
    return total


def summarise(
    schedule: Schedule,
    built: Mapping[str, Built],
    certificates: Sequence[Certificate],
) -> dict[str, Any]:
    """Return counts, bytes, extern calls with reasons, and verdicts.

    Bytes count each array once for each kernel or call that touches it; None where a
    size is not known at compile time.
    """
    arrays: dict[str, Buffer] = {}
    kernels: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    verdicts = {certificate.kernel: certificate for certificate in certificates}
    for value in schedule.inputs:
        if isinstance(value, Buffer):
            arrays[value.name] = value
    for step in schedule.steps:
        if isinstance(step, (Allocate, Alias)):
            arrays[step.buffer.name] = step.buffer
        elif isinstance(step, Extern):
            arrays.update({b.name: b for b in step.outputs if b is not None})
            calls.append(_call(step, arrays))
        elif isinstance(step, Kernel):
            touched = [arrays.get(name, b) for name, b in step.buffers.items()]
            kernels.append(
                {
                    "name": step.name,
                    "compiled": type(built[step.name]).__name__ != "Evaluated",
                    "bytes": _total(touched),
                    "origins": list(step.origins),
                    "reasons": list(step.reasons),
                    "verdicts": _verdicts(verdicts.get(step.name)),
                }
            )
    return {"kernels": kernels, "extern_calls": calls, "notes": list(schedule.notes)}


def _call(step: Extern, arrays: Mapping[str, Buffer]) -> dict[str, Any]:
    touched = [b for b in step.outputs if b is not None and b.name not in step.aliases]
    touched += [
        arrays[name] for name in _references((step.args, step.kwargs)) if name in arrays
    ]
    return {
        "target": str(step.target),
        "reason": step.reason,
        "origin": step.origin,
        "bytes": _total(touched),
    }


def _references(value: Any) -> list[str]:
    if isinstance(value, Reference):
        return [value.name]
    if isinstance(value, Expression):
        return []
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [name for part in value for name in _references(part)]
    return []


def _total(buffers: Sequence[Buffer]) -> int | None:
    sizes = [buffer_bytes(buffer) for buffer in buffers]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _verdicts(certificate: Certificate | None) -> dict[str, str]:
    if certificate is None:
        return {}
    return {
        name: f"Unknown: {verdict.reason}"
        if isinstance(verdict, Unknown)
        else type(verdict).__name__
        for name, verdict in certificate.verdicts.items()
    }
