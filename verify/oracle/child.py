"""What runs in the oracle's child process: the wheel's own layouts, nothing of ours.

Run as a script. Reads one JSON list of jobs a line from stdin, answers one JSON line a
job, at once, so that the parent knows which job a dying process was at. A job is
``["encoding", encoding, shape]``, ``["algebra", operation, arguments]`` or
``["version"]``; an answer is ``{"value": ...}`` or ``{"error": text}``.
"""

import dataclasses
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import triton
from triton._C import libtriton
from triton._C.libtriton import gluon_ir, ir
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language import amd
from triton.experimental.gluon.language.nvidia import blackwell

CONTEXT = ir.context()
ir.load_dialects(CONTEXT)
BUILDER = gluon_ir.GluonOpBuilder(CONTEXT)
Layout = libtriton.linear_layout.LinearLayout


class NotExposedError(Exception):
    """The wheel has no way to build this kind."""


def _construct(cls: Any, **given: Any) -> Any:
    """Call a layout class with those arguments that this release has."""
    names = {field.name for field in dataclasses.fields(cls)}
    bases = given.pop("cga_layout", None)
    if bases:
        if "cga_layout" not in names:
            raise NotExposedError(f"{cls.__name__} takes no cga_layout")
        given["cga_layout"] = bases
    missing = {k for k, v in given.items() if k not in names and v}
    if missing:
        raise NotExposedError(f"{cls.__name__} takes no {sorted(missing)}")
    return cls(**{k: v for k, v in given.items() if k in names})


def _bases(encoding: dict[str, Any]) -> list[list[int]]:
    found: list[list[int]] = encoding.get("cga", {}).get("bases", [])
    return found


def _blocked(e: dict[str, Any]) -> Any:
    names = ("size_per_thread", "threads_per_warp", "warps_per_cta", "order")
    return _construct(
        gl.BlockedLayout, **{n: e[n] for n in names}, cga_layout=_bases(e)
    )


def _slice(e: dict[str, Any]) -> Any:
    return gl.SliceLayout(e["dim"], build(e["parent"]))


def _dot_operand(e: dict[str, Any]) -> Any:
    return gl.DotOperandLayout(e["op_idx"], build(e["parent"]), e["k_width"])


def _nvidia_mma(e: dict[str, Any]) -> Any:
    names = ("version", "warps_per_cta", "instr_shape")
    return _construct(
        gl.NVMMADistributedLayout, **{n: e[n] for n in names}, cga_layout=_bases(e)
    )


def _amd_mfma(e: dict[str, Any]) -> Any:
    return _construct(
        amd.AMDMFMALayout,
        version=e["version"],
        instr_shape=e["instr_shape"],
        transposed=e["is_transposed"],
        warps_per_cta=e["warps_per_cta"],
        element_bitwidth=e.get("element_bit_width", 32),
        tiles_per_warp=e.get("tiles_per_warp"),
        cga_layout=_bases(e),
    )


def _amd_wmma(e: dict[str, Any]) -> Any:
    placed = e["cta_layout"]
    given = {
        "version": e["version"],
        "transposed": e["is_transposed"],
        "instr_shape": e["instr_shape"],
        "cga_layout": _bases(e),
    }
    names = {field.name for field in dataclasses.fields(amd.AMDWMMALayout)}
    if "warp_bases" in names:
        given |= {"warp_bases": placed["warp"], "reg_bases": placed["register"]}
        given["rank"] = e["rank"]
    else:
        given |= _warps_and_tiles(placed, e["rank"])
    return _construct(amd.AMDWMMALayout, **given)


def _warps_and_tiles(placed: dict[str, Any], rank: int) -> dict[str, Any]:
    counts = {}
    for name, bases in (
        ("warps_per_cta", placed["warp"]),
        ("tiles_per_warp", placed["register"]),
    ):
        counts[name] = [1 << sum(1 for b in bases if b[d]) for d in range(rank)]
    return counts


def _swizzled_shared(e: dict[str, Any]) -> Any:
    names = ("vec", "per_phase", "max_phase", "order")
    return _construct(
        gl.SwizzledSharedLayout, **{n: e[n] for n in names}, cga_layout=_bases(e)
    )


def _nvmma_shared(e: dict[str, Any]) -> Any:
    return _construct(
        gl.NVMMASharedLayout,
        swizzle_byte_width=e["swizzle_byte_width"],
        element_bitwidth=e["element_bit_width"],
        rank=e["rank"],
        transposed=e["transposed"],
        fp4_padded=e["fp4_padded"],
        cga_layout=_bases(e),
    )


def _linear(e: dict[str, Any]) -> Any:
    parts = [e[n] for n in ("register", "lane", "warp", "block")]
    return gl.DistributedLinearLayout(*parts, e["shape"])


def _shared_linear(e: dict[str, Any]) -> Any:
    return gl.SharedLinearLayout(e["offset"], e["block"], e["alignment"])


def _tensor_memory(e: dict[str, Any]) -> Any:
    return _construct(
        blackwell.TensorMemoryLayout,
        block=[e["block_m"], e["block_n"]],
        col_stride=e["col_stride"],
        two_ctas=e["two_ctas"],
        fp4_padded=e["fp4_padded"],
        cga_layout=_bases(e),
    )


def _tensor_memory_scales(e: dict[str, Any]) -> Any:
    return _construct(blackwell.TensorMemoryScalesLayout, cga_layout=_bases(e))


def _partitioned_shared(e: dict[str, Any]) -> Any:
    for name in ("cdna5", "gfx1250"):
        place = f"triton.experimental.gluon.language.amd.{name}"
        if importlib.util.find_spec(place):
            cls = getattr(
                importlib.import_module(place), "PartitionedSharedLayout", None
            )
            if cls is not None:
                names = ("num_partitions", "num_groups", "partition_dim")
                return cls(*(e[n] for n in names), build(e["partition_layout"]))
    raise NotExposedError("no PartitionedSharedLayout")


_BUILDERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "blocked": _blocked,
    "slice": _slice,
    "dot_operand": _dot_operand,
    "nvidia_mma": _nvidia_mma,
    "amd_mfma": _amd_mfma,
    "amd_wmma": _amd_wmma,
    "swizzled_shared": _swizzled_shared,
    "nvmma_shared": _nvmma_shared,
    "linear": _linear,
    "shared_linear": _shared_linear,
    "partitioned_shared": _partitioned_shared,
    "tensor_memory": _tensor_memory,
    "tensor_memory_scales": _tensor_memory_scales,
}


def build(encoding: dict[str, Any]) -> Any:
    """Return the wheel's layout object for an encoding."""
    builder = _BUILDERS.get(encoding["kind"])
    if builder is None:
        raise NotExposedError(f"no constructor for {encoding['kind']}")
    return builder(encoding)


def linear_layout_of(encoding: dict[str, Any], shape: list[int]) -> dict[str, Any]:
    """Return the bases that the wheel computes: in-dim -> vectors, and the shape."""
    attribute = build(encoding)._to_ir(BUILDER)
    if attribute is None:
        raise ValueError("the wheel's verifier rejects the encoding")
    found = BUILDER.to_linear_layout(attribute, shape)
    names = {
        "reg_bases": "register",
        "lane_bases": "lane",
        "warp_bases": "warp",
        "offset_bases": "offset",
        "rows": "row",
        "cols": "col",
        "block_bases": "block",
    }
    return {
        ours: [list(basis) for basis in getattr(found, theirs)]
        for theirs, ours in names.items()
        if hasattr(found, theirs)
    }


def _to_layout(given: dict[str, Any]) -> Any:
    return Layout.from_bases(
        [(name, bases) for name, bases in given["bases"]],
        [name for name, _ in given["out_dims"]],
        [size for _, size in given["out_dims"]],
        given["surjective"],
    )


def _from_layout(layout: Any) -> dict[str, Any]:
    return {
        "bases": [[name, [list(v) for v in vectors]] for name, vectors in layout.bases],
        "out_dims": [list(pair) for pair in layout.out_dims],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Layout):
        return _from_layout(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value


def algebra(operation: str, arguments: list[Any]) -> Any:
    """Run one operation of the wheel's ``LinearLayout``."""
    args = [
        _to_layout(a) if isinstance(a, dict) and "bases" in a else a for a in arguments
    ]
    if operation == "make":
        return _plain(args[0])
    if operation in ("identity_1d", "strided_1d", "zeros_1d"):
        return _plain(getattr(Layout, operation)(*args))
    if operation == "product":
        return _plain(args[0] * args[1])
    if operation == "product_in_place":
        target = args[0]
        target *= args[1]
        return _plain(target)
    if operation == "equal":
        return args[0] == args[1]
    if operation == "unequal":
        return args[0] != args[1]
    member = getattr(args[0], operation)
    if callable(member):
        return _plain(member(*args[1:]))
    return _plain(member)


def answer(job: list[Any]) -> dict[str, Any]:
    """Return the answer to one job."""
    try:
        if job[0] == "version":
            return {"value": triton.__version__}
        if job[0] == "encoding":
            return {"value": linear_layout_of(job[1], job[2])}
        return {"value": algebra(job[1], job[2])}
    except NotExposedError as error:
        return {"not_exposed": str(error)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"}


def main() -> None:
    """Answer jobs until stdin ends."""
    # whatever else the wheel prints must not mix with the answers
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        for job in json.loads(line):
            out.write(json.dumps(answer(job)) + "\n")
            out.flush()
    out.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
