import numpy as np
import pytest

from algebra.encodings import DotOperand, NvidiaMma
from verify.ptx.numeric.floats import to_bits
from verify.ptx.numeric.matrix import multiply

RESULT = NvidiaMma(version=(2, 0), warps_per_cta=(1, 1), instr_shape=(16, 8))
KINDS = {"bf16": (16, "f32"), "f16": (16, "f32"), "tf32": (8, "f32"), "s8": (32, "s32")}


def words(matrix: np.ndarray, op_idx: int, kind: str) -> list[np.ndarray]:
    """Lay a matrix into registers as Triton's dot operand says."""
    width = {"bf16": 2, "f16": 2, "tf32": 1, "s8": 4}[kind]
    layout = DotOperand(op_idx=op_idx, parent=RESULT, k_width=width).to_linear_layout(
        matrix.shape
    )
    registers = layout.get_in_dim_size("register") // width
    found = [np.zeros(32, np.uint64) for _ in range(registers)]
    for register in range(registers * width):
        for lane in range(32):
            at = layout.apply(
                {"register": register, "lane": lane, "warp": 0, "block": 0}
            )
            value = matrix[at["dim0"], at["dim1"]]
            if kind == "s8":
                bits = int(value) & 0xFF
            else:
                bits = int(to_bits(np.array([value]), kind.replace("tf32", "f32"))[0])
            shift = register % width * (32 // width)
            found[register // width][lane] |= np.uint64(bits << shift)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_fragments_are_dot_operands(kind: str) -> None:
    """The ISA's fragments, against the layouts of ``algebra.encodings``."""
    depth, out = KINDS[kind]
    rng = np.random.default_rng(0)
    a = rng.integers(-8, 8, (16, depth)).astype(float)
    b = rng.integers(-8, 8, (depth, 8)).astype(float)
    zero = [np.zeros(32, np.uint64) for _ in range(4)]
    opcode = f"mma.sync.aligned.m16n8k{depth}.row.col.{out}.{kind}.{kind}.{out}"
    got = multiply(opcode, words(a, 0, kind), words(b, 1, kind), zero)
    assert got is not None
    layout = RESULT.to_linear_layout([16, 8])
    for register in range(4):
        word = got[register].astype(np.uint32)
        values = word.view(np.float32 if out == "f32" else np.int32)
        for lane in range(32):
            at = layout.apply(
                {"register": register, "lane": lane, "warp": 0, "block": 0}
            )
            assert values[lane] == (a @ b)[at["dim0"], at["dim1"]]


@pytest.mark.parametrize("other", ["k16.row.row", "k64.row.col"])
def test_what_is_not_modelled(other: str) -> None:
    zero = [np.zeros(32, np.uint64) for _ in range(4)]
    opcode = f"mma.sync.aligned.m16n8{other}.f32.bf16.bf16.f32"
    assert multiply(opcode, zero, zero[:2], zero) is None
