"""Ask an installed Triton how it spells and propagates layouts; run as a script.

Arguments: a question, a seed, a count. One JSON object a line, the first has the
release. ``attributes``: the text of a random type, its shape, and the linear layout
that Triton gives it (null where the wheel has none). ``propagation``: a random
operation, the types of source and result, and the argument. Runs in its own process
because Triton aborts on some inputs.
"""

import json
import math
import os
import random
import sys
from typing import Any

Case = tuple[str, Any, list[int]]
REGISTERS = (
    "blocked",
    "dot",
    "dot_blocked",
    "dot_mfma",
    "linear",
    "mfma",
    "mma",
    "slice",
    "wmma",
)
MEMORY = ("nvmma", "padded", "shared_linear", "swizzled")
SMALL = [16, 32]


def split(rng: random.Random, rank: int, bits: int) -> list[int]:
    """Return ``rank`` powers of two with product ``2**bits``."""
    sizes = [1] * rank
    for _ in range(bits):
        sizes[rng.randrange(rank)] *= 2
    return sizes


def cga(rng: random.Random, rank: int) -> list[list[int]]:
    """Return the split of a cluster of 1, 2 or 4 CTAs."""
    bases: list[list[int]] = []
    sizes = [1] * rank
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        basis = [0] * rank
        if rng.random() < 0.8:
            dim = rng.randrange(rank)
            basis[dim] = sizes[dim]
            sizes[dim] *= 2
        bases.append(basis)
    return bases


def layouts(rng: random.Random, gl: Any, amd: Any, new: bool) -> Case:
    """Return the type's family, a Gluon layout and a shape."""
    kind = rng.choice(REGISTERS + MEMORY)
    if kind in ("blocked", "slice", "dot_blocked"):
        return "tensor", *blocked(rng, gl, kind)
    if kind in ("mma", "dot"):
        return "tensor", nvidia(rng, gl, kind), matrix(rng)
    if kind == "linear":
        return "tensor", linear(rng, gl), SMALL
    if kind in REGISTERS:
        return "tensor", amd_matrix(rng, gl, amd, kind, new), matrix(rng)
    return "memdesc", *memory(rng, gl, kind)


def matrix(rng: random.Random) -> list[int]:
    """Return the shape of a matrix."""
    return [1 << rng.randint(4, 7), 1 << rng.randint(5, 7)]


def blocked(rng: random.Random, gl: Any, kind: str) -> tuple[Any, list[int]]:
    """Return a blocked layout, its slice or its operand, and a shape."""
    rank = rng.choice([1, 2, 2, 3]) if kind == "blocked" else rng.choice([2, 2, 3])
    order = rng.sample(range(rank), rank)
    sizes = [split(rng, rank, bits) for bits in (rng.randint(0, 4), 5, 2)]
    layout = gl.BlockedLayout(*sizes, order, cga(rng, rank))
    shape = [1 << rng.randint(2, 6) for _ in range(rank)]
    if kind == "dot_blocked":
        return gl.DotOperandLayout(rng.randint(0, 1), layout, 0), shape
    if kind == "slice":
        dim = rng.randrange(rank)
        return gl.SliceLayout(dim, layout), shape[:dim] + shape[dim + 1 :]
    return layout, shape


def nvidia(rng: random.Random, gl: Any, kind: str) -> Any:
    """Return the result or an operand of a matrix instruction of NVIDIA."""
    if kind == "mma" and rng.random() < 0.5:
        instr = [16, rng.choice([8, 16, 64]), 16]
        return gl.NVMMADistributedLayout([3, 0], [4, 1], instr, cga(rng, 2))
    warps = split(rng, 2, 2)
    mma = gl.NVMMADistributedLayout([2, 0], warps, [16, 8], cga(rng, 2))
    operand = gl.DotOperandLayout(rng.randint(0, 1), mma, rng.choice([1, 2, 4]))
    return operand if kind == "dot" else mma


def amd_matrix(rng: random.Random, gl: Any, amd: Any, kind: str, new: bool) -> Any:
    """Return the result or an operand of a matrix instruction of AMD."""
    flag = rng.random() < 0.5
    warps = split(rng, 2, 2)
    tiles = split(rng, 2, rng.randint(0, 1))
    if kind == "wmma":
        version = rng.randint(1, 3)
        instr = [16, 16, 32 if version == 3 else 16]
        where: tuple[Any, ...] = ([[0, 1], [1, 0]], rng.choice([[], [[0, 2]]]), instr)
        if not new:
            where = (warps, instr, tiles)
        return amd.AMDWMMALayout(version, flag, *where, cga(rng, 2))
    instr = rng.choice([[32, 32, 8], [16, 16, 16]])
    bits = 32 if kind == "dot_mfma" else rng.choice([32, 64])
    args = (rng.randint(1, 4), instr, flag, warps, bits, tiles)
    mfma = amd.AMDMFMALayout(*args, cga(rng, 2))
    if kind == "dot_mfma":
        return gl.DotOperandLayout(rng.randint(0, 1), mfma, 4)
    return mfma


def units(rng: random.Random) -> list[list[int]]:
    """Return the unit vectors of a small matrix in some order."""
    vectors = [[1 << i, 0] for i in range(4)] + [[0, 1 << i] for i in range(5)]
    rng.shuffle(vectors)
    return vectors


def linear(rng: random.Random, gl: Any) -> Any:
    """Return a layout by its bases."""
    vectors = units(rng)
    cut = rng.randint(0, 4)
    warp = vectors[cut + 5 :] + [[0, 0]] * rng.randint(0, 1)
    parts = (vectors[:cut], vectors[cut : cut + 5], warp)
    return gl.DistributedLinearLayout(*parts, [], SMALL)


def memory(rng: random.Random, gl: Any, kind: str) -> tuple[Any, list[int]]:
    """Return a layout of shared memory and a shape."""
    if kind == "shared_linear":
        vectors = units(rng)
        vectors[3][0] ^= vectors[3][1] & 15
        return gl.SharedLinearLayout(vectors, alignment=rng.choice([16, 128])), SMALL
    if kind == "padded":
        pairs = [[32, rng.choice([4, 8])], [128, 8]][: rng.randint(1, 2)]
        if rng.random() < 0.5:
            return gl.PaddedSharedLayout(pairs, units(rng), [], SMALL), SMALL
        order = rng.sample([0, 1], 2)
        return gl.PaddedSharedLayout.with_identity_for(pairs, SMALL, order), SMALL
    if kind == "swizzled":
        rank = rng.choice([1, 2, 2, 3])
        order = rng.sample(range(rank), rank)
        numbers = [1 << rng.randint(0, 3) for _ in range(3)]
        shape = [1 << rng.randint(3, 6) for _ in range(rank)]
        return gl.SwizzledSharedLayout(*numbers, order, cga(rng, rank)), shape
    bits = rng.choice([8, 16, 32])
    fp4 = bits == 8 and rng.random() < 0.3
    swizzle = 128 if fp4 else rng.choice([0, 32, 64, 128])
    transposed = rng.random() < 0.5 and swizzle > 0 and not fp4
    args = (swizzle, bits, 2, transposed, fp4, cga(rng, 2))
    return gl.NVMMASharedLayout(*args), [256, 256]


def to_bases(layout: Any) -> dict[str, Any]:
    """Return what Triton's own linear layout object holds."""
    if hasattr(layout, "offset_bases"):
        return {"offset": layout.offset_bases, "block": layout.block_bases}
    return {
        "register": layout.reg_bases,
        "lane": layout.lane_bases,
        "warp": layout.warp_bases,
        "block": layout.block_bases,
    }


def attributes(rng: random.Random, count: int, wheel: Any) -> None:
    """Print ``count`` attributes with their linear layouts."""
    builder, gl, amd, new = wheel
    element = builder.get_half_ty()
    for _ in range(count):
        family, layout, shape = layouts(rng, gl, amd, new)
        attribute = layout._to_ir(builder)
        try:
            if family == "tensor":
                text = str(builder.get_distributed_ty(element, shape, attribute))
            else:
                text = str(
                    builder.get_shared_mem_desc_ty(element, shape, attribute, shape)
                )
        except RuntimeError:
            continue
        bases = None
        padded = isinstance(layout, gl.PaddedSharedLayout)
        if not padded and (new or family == "tensor"):
            bases = to_bases(builder.to_linear_layout(attribute, shape))
        print(json.dumps({"text": text, "shape": shape, "bases": bases}), flush=True)


def new_shape(rng: random.Random, size: int) -> list[int]:
    """Return 1 to 4 powers of two with product ``size``."""
    left = size.bit_length() - 1
    shape = []
    for _ in range(rng.randint(0, 3)):
        bits = rng.randint(0, left)
        shape.append(1 << bits)
        left -= bits
    shape.append(1 << left)
    rng.shuffle(shape)
    return shape


def propagation(rng: random.Random, count: int, wheel: Any) -> None:
    """Print what Triton infers for ``count`` operations."""
    builder, gl, amd, new = wheel
    import triton._C.libtriton as libtriton

    f32, i8, f16 = builder.get_float_ty(), builder.get_int8_ty(), builder.get_half_ty()
    printed = 0
    while printed < count:
        family, layout, shape = layouts(rng, gl, amd, new)
        attribute = layout._to_ir(builder)
        rank = len(shape)
        argument: Any = None
        if family == "memdesc":
            argument = rng.sample(range(rank), rank)
            try:
                kind = builder.get_shared_mem_desc_ty(f16, shape, attribute, shape)
                value = builder.create_local_alloc(kind)
                result = builder.create_memdesc_trans(value, argument)
            except RuntimeError:
                continue
            operation = "trans"
        else:
            operation = rng.choice(["trans", "reshape", "join", "split", "fp4_to_fp"])
            if isinstance(layout, gl.SliceLayout) and rng.random() < 0.3:
                operation = "expand_dims"
            clusters = "CGALayout" in str(
                builder.get_distributed_ty(f32, shape, attribute)
            )
            if operation == "split" and clusters:
                continue  # releases before 3.8 abort on the split of a cluster
            element = i8 if operation == "fp4_to_fp" else f32
            value = builder.create_poison(
                builder.get_distributed_ty(element, shape, attribute)
            )
            if operation == "trans":
                argument = rng.sample(range(rank), rank)
                result = builder.create_trans(value, argument)
            elif operation == "reshape":
                argument = new_shape(rng, math.prod(shape))
                result = builder.create_reshape(value, argument, False)
            elif operation == "join":
                result = builder.create_join(value, value)
            elif operation == "split":
                value = builder.create_join(value, value)
                result = libtriton.ir.builder.create_split(builder, value)[0]
            elif operation == "expand_dims":
                argument = layout.dim
                result = builder.create_expand_dims(value, argument)
            else:
                argument = rng.randrange(rank)
                result = builder.create_fp4_to_fp(value, f16, argument)
        inference = {
            "operation": operation,
            "argument": argument,
            "source": str(value.get_type()),
            "result": str(result.get_type()),
        }
        print(json.dumps(inference), flush=True)
        printed += 1


def start() -> Any:
    """Return a builder in a function, Gluon's layouts, and whether Triton is new."""
    import triton
    from triton._C.libtriton import gluon_ir, ir
    from triton.experimental.gluon.language import _layouts as gl
    from triton.experimental.gluon.language.amd import _layouts as amd

    context = ir.context()
    ir.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    builder.set_loc("", 1, 1)
    module = builder.create_module()
    signature = builder.get_function_ty([], [])
    function = builder.get_or_insert_function(module, "f", signature, "public", False)
    module.push_back(function)
    builder.set_insertion_point_to_start(function.add_entry_block())
    new = tuple(map(int, triton.__version__.split(".")[:2])) > (3, 6)
    print(json.dumps({"release": ".".join(triton.__version__.split(".")[:2])}))
    # the builder refers into both: they must live as long as the process
    globals()["_alive"] = (context, module)
    return builder, gl, amd, new


if __name__ == "__main__":
    run = {"attributes": attributes, "propagation": propagation}[sys.argv[1]]
    run(random.Random(int(sys.argv[2])), int(sys.argv[3]), start())
    sys.stdout.flush()
    os._exit(0)
