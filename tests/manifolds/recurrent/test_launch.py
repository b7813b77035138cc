import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from compiler.triton_api import compile_kernel
from manifolds.charts import SO
from manifolds.recurrent.kernel import recurrence_kernel
from manifolds.recurrent.launch import (
    LARGEST,
    Cut,
    backward_launch,
    cut,
    forward_launch,
    launch,
    pad,
    places,
    serves,
)
from manifolds.recurrent.loop import backward_loop, forward_loop

REGISTERS = 65_536
"""Of a multiprocessor of 80 or 90 [32 bits]."""


@given(st.integers(1, LARGEST), st.integers(1, 3000), st.sampled_from((8, 108, 132)))
def test_a_cut_covers_w_fits_the_registers_and_runs_at_once(
    n: int, batch: int, processors: int
) -> None:
    found = cut(n, batch, processors)
    assert found.parts * found.k_tile >= n
    assert found.split * found.parts * found.n_tile >= n
    share = found.parts**2 * found.k_tile * found.n_tile
    assert share <= 0.6 * REGISTERS
    if found.split > 1:
        assert found.programs(batch) <= processors


@given(st.lists(st.integers(1, 4), max_size=5))
def test_padding_and_its_inverse(lengths: list[int]) -> None:
    sizes = tuple(sorted(lengths, reverse=True))
    packed = torch.arange(1.0, sum(sizes) + 1)[:, None]
    kept = places(sizes, packed.device)
    room = pad(packed, kept, sizes)
    assert room.shape == (len(sizes), sizes[0] if sizes else 0, 1)
    flat = room.flatten(0, 1)
    assert torch.equal(flat if kept is None else flat[kept], packed)
    assert float(room.sum()) == float(packed.sum())


def test_nothing_to_do() -> None:
    nothing = torch.zeros(0, 2, 3)
    out, sums = launch(
        nothing, torch.zeros(2, 3), torch.eye(3), torch.zeros(3), None, interpret=True
    )
    assert out.shape == (0, 2, 3) and not sums.any()


def test_only_single_precision_on_a_gpu_is_served() -> None:
    assert not serves(torch.zeros(1, 3))


def ptx(chosen: Cut, backward: bool) -> str:
    tensors = ("x", "weight", "bias", "states", "start", "out", "sums")
    kernel = compile_kernel(
        recurrence_kernel,
        {
            **dict.fromkeys(tensors, "*fp32"),
            **dict.fromkeys(("begin", "end", "steps", "batch", "n"), "i32"),
        },
        {
            "BACKWARD": backward,
            "PARTS": chosen.parts,
            "K_TILE": chosen.k_tile,
            "N_TILE": chosen.n_tile,
            "SPLIT": chosen.split,
            "ROWS": chosen.rows,
            "WAIT": chosen.split > 1,
        },
        aligned=tensors,
        num_warps=chosen.warps,
    )
    return str(kernel.asm["ptx"])


@pytest.mark.parametrize("n", [16, 190])
def test_compiles_for_sm_90(n: int) -> None:
    text = ptx(cut(n, 128, 132), backward=n == 190)
    assert ".target sm_90" in text
    assert "ld.volatile" not in text
    assert "mma" not in text, "products must not be rounded to TF32"


def test_programs_that_share_columns_poll() -> None:
    text = ptx(cut(512, 128, 132), backward=False)
    assert "ld.volatile.global" in text and "setp.eq" in text


@pytest.mark.slow
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("n", [32, 48, 64, 96, 128, 192, 256, 384, 512])
def test_all_cuts_compile(n: int, rows: int, backward: bool) -> None:
    found = cut(n, 1, 132)
    chosen = Cut(
        *(found.parts, found.k_tile, found.n_tile, found.split, found.warps), rows=rows
    )
    assert ".target sm_90" in ptx(chosen, backward)


@pytest.mark.gpu
@pytest.mark.parametrize("sizes", [(9,) * 7, (200,) * 3, (4, 4, 3, 1)])
@pytest.mark.parametrize("n", [3, 30, 41, 60, 90, 128, 190, 250, 360, 512])
def test_both_scans_are_the_loop_on_a_gpu(n: int, sizes: tuple[int, ...]) -> None:
    rows = sum(sizes)
    x, gradient = torch.randn(2, rows, n, device="cuda")
    start, weight = torch.randn(sizes[0], n, device="cuda"), SO().sample((n, n)).cuda()
    bias = torch.randn(n, device="cuda") / 3
    wide = [t.double() for t in (x, start, weight, bias)]
    states = forward_loop(wide[0], wide[1], wide[2], wide[3], sizes)
    found = forward_launch(x, start, weight, bias, sizes)
    assert float((found - states).norm() / states.norm()) < 2e-6
    kept = states.float()
    wanted = backward_loop(gradient.double(), kept.double(), wide[2], wide[3], sizes)
    got = backward_launch(gradient, kept, weight, bias, sizes)
    for one, other in zip(got, wanted, strict=True):
        assert float((one - other).norm() / other.norm()) < 2e-6
