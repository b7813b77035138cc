"""Print random attributes as an installed Triton spells them; run as a script.

Arguments: seed, count. One JSON object a line: the text of the type, the shape, and the
linear layout that Triton gives it (null where the wheel has none). Runs in its own
process because Triton aborts on some inputs.
"""

import json
import random
import sys
from typing import Any


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


def layouts(
    rng: random.Random, gl: Any, amd: Any, new: bool
) -> tuple[str, Any, list[int]]:
    """Return the type's kind, a Gluon layout and a shape."""
    kind = rng.choice(
        "blocked slice mma dot linear mfma wmma swizzled nvmma shared_linear padded "
        "dot_blocked dot_mfma".split()
    )
    rank = rng.choice([1, 2, 2, 3])
    if kind in ("blocked", "slice", "dot_blocked"):
        rank = rank if kind == "blocked" else max(rank, 2)
        order = rng.sample(range(rank), rank)
        sizes = (split(rng, rank, bits) for bits in (rng.randint(0, 4), 5, 2))
        layout = gl.BlockedLayout(*sizes, order, cga(rng, rank))
        shape = [1 << rng.randint(2, 6) for _ in range(rank)]
        if kind == "dot_blocked":
            return "tensor", gl.DotOperandLayout(rng.randint(0, 1), layout, 0), shape
        if kind == "slice":
            dim = rng.randrange(rank)
            return "tensor", gl.SliceLayout(dim, layout), shape[:dim] + shape[dim + 1 :]
        return "tensor", layout, shape
    shape = [1 << rng.randint(4, 7), 1 << rng.randint(5, 7)]
    warps = split(rng, 2, 2)
    if kind == "mma" and rng.random() < 0.5:
        return (
            "tensor",
            gl.NVMMADistributedLayout(
                [3, 0], [4, 1], [16, rng.choice([8, 16, 64]), 16], cga(rng, 2)
            ),
            shape,
        )
    if kind in ("mma", "dot"):
        mma = gl.NVMMADistributedLayout([2, 0], warps, [16, 8], cga(rng, 2))
        width = rng.choice([1, 2, 4])
        operand = gl.DotOperandLayout(rng.randint(0, 1), mma, width)
        return "tensor", operand if kind == "dot" else mma, shape
    if kind in ("mfma", "dot_mfma"):
        instr = rng.choice([[32, 32, 8], [16, 16, 16]])
        tiles = split(rng, 2, rng.randint(0, 1))
        bits = 32 if kind == "dot_mfma" else rng.choice([32, 64])
        args = (rng.randint(1, 4), instr, rng.random() < 0.5, warps, bits, tiles)
        mfma = amd.AMDMFMALayout(*args, cga(rng, 2))
        if kind == "dot_mfma":
            return "tensor", gl.DotOperandLayout(rng.randint(0, 1), mfma, 4), shape
        return "tensor", mfma, shape
    if kind == "wmma":
        version = rng.randint(1, 3)
        instr = [16, 16, 32 if version == 3 else 16]
        flag = rng.random() < 0.5
        if not new:
            tiles = split(rng, 2, rng.randint(0, 1))
            return (
                "tensor",
                amd.AMDWMMALayout(version, flag, warps, instr, tiles, cga(rng, 2)),
                shape,
            )
        return (
            "tensor",
            amd.AMDWMMALayout(
                version,
                flag,
                [[0, 1], [1, 0]],
                rng.choice([[], [[0, 2]]]),
                instr,
                cga(rng, 2),
            ),
            shape,
        )
    units = [[1 << i, 0] for i in range(4)] + [[0, 1 << i] for i in range(5)]
    rng.shuffle(units)
    if kind == "linear":
        cut = rng.randint(0, 4)
        warp = units[cut + 5 :] + [[0, 0]] * rng.randint(0, 1)
        return (
            "tensor",
            gl.DistributedLinearLayout(
                units[:cut], units[cut : cut + 5], warp, [], [16, 32]
            ),
            [16, 32],
        )
    if kind == "shared_linear":
        units[3][0] ^= units[3][1] & 15
        return (
            "memdesc",
            gl.SharedLinearLayout(units, alignment=rng.choice([16, 128])),
            [
                16,
                32,
            ],
        )
    if kind == "padded":
        pairs = [[32, rng.choice([4, 8])], [128, 8]][: rng.randint(1, 2)]
        if rng.random() < 0.5:
            return (
                "memdesc",
                gl.PaddedSharedLayout(pairs, units, [], [16, 32]),
                [16, 32],
            )
        order = rng.sample([0, 1], 2)
        layout = gl.PaddedSharedLayout.with_identity_for(pairs, [16, 32], order)
        return "memdesc", layout, [16, 32]
    if kind == "swizzled":
        order = rng.sample(range(rank), rank)
        vec, per, most = (1 << rng.randint(0, 3) for _ in range(3))
        sizes = [1 << rng.randint(3, 6) for _ in range(rank)]
        return (
            "memdesc",
            gl.SwizzledSharedLayout(vec, per, most, order, cga(rng, rank)),
            sizes,
        )
    bits = rng.choice([8, 16, 32])
    fp4 = bits == 8 and rng.random() < 0.3
    swizzle = 128 if fp4 else rng.choice([0, 32, 64, 128])
    return (
        "memdesc",
        gl.NVMMASharedLayout(
            swizzle,
            bits,
            2,
            rng.random() < 0.5 and swizzle > 0 and not fp4,
            fp4,
            cga(rng, 2),
        ),
        [256, 256],
    )


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


def main(seed: int, count: int) -> None:
    """Print ``count`` attributes."""
    import triton
    from triton._C.libtriton import gluon_ir, ir
    from triton.experimental.gluon.language import _layouts as gl
    from triton.experimental.gluon.language.amd import _layouts as amd

    context = ir.context()
    ir.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    element = builder.get_half_ty()
    rng = random.Random(seed)
    new = tuple(map(int, triton.__version__.split(".")[:2])) > (3, 6)
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


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
