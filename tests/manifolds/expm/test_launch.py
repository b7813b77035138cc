from collections.abc import Callable

import pytest
import torch

from compiler.triton_api import compile_kernel
from manifolds.expm import expm, frechet
from manifolds.expm.kernel import matrix_kernel, small_kernel
from manifolds.expm.launch import LARGEST, WARPS, launch, serves

Rounding = Callable[[torch.Tensor], float]


def test_only_single_precision_on_a_gpu_is_served() -> None:
    assert not serves(torch.zeros(4, 4))


def test_no_matrix_at_all() -> None:
    assert launch(torch.zeros(0, 4, 4), interpret=True).shape == (0, 4, 4)


def ptx(size: int, pair: bool) -> str:
    pointers = dict.fromkeys(("matrix", "direction", "out"), "*fp32")
    constants = {"TRANSPOSED": pair, "PAIR": pair}
    if size <= 4:
        kernel = compile_kernel(
            small_kernel,
            {**pointers, "count": "i32"},
            {**constants, "N": size, "LOG2_SIZE": 2 if size == 2 else 4, "BLOCK": 32},
            aligned=tuple(pointers),
            num_warps=1,
        )
    else:
        kernel = compile_kernel(
            matrix_kernel,
            dict(pointers),
            {**constants, "N": size, "SIZE": size, "PRECISION": "tf32x3"},
            aligned=tuple(pointers),
            num_warps=WARPS[size],
        )
    return str(kernel.asm["ptx"])


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("size", [2, 16])
def test_compiles_for_sm_90(size: int, pair: bool) -> None:
    text = ptx(size, pair)
    assert ".target sm_90" in text
    assert ("mma" in text) == (size > 4)


@pytest.mark.slow
@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("size", [3, 4, 32, 64])
def test_all_sizes_compile(size: int, pair: bool) -> None:
    assert ".target sm_90" in ptx(size, pair)


@pytest.mark.gpu
@pytest.mark.parametrize("n", [2, 3, 4, 5, 16, 17, 32, 33, LARGEST, LARGEST + 1])
def test_value_and_gradient_on_a_gpu(n: int, rounding: Rounding) -> None:
    matrix = torch.randn(2, 3, n, n, device="cuda") / n**0.5
    matrix = (matrix - matrix.mT).requires_grad_()
    gradient = torch.randn_like(matrix)
    value = expm(matrix)
    (found,) = torch.autograd.grad(value, matrix, gradient)
    exact = matrix.detach().double()
    for one, other in (
        (value.detach(), expm(exact)),
        (found, frechet(exact.mT, gradient.double())),
    ):
        assert float((one - other).norm() / other.norm()) < rounding(exact)


@pytest.mark.gpu
def test_second_derivatives_on_a_gpu() -> None:
    matrix = torch.randn(3, 3, device="cuda", requires_grad=True)
    (slope,) = torch.autograd.grad(expm(matrix).sum(), matrix, create_graph=True)
    (found,) = torch.autograd.grad(slope.square().sum(), matrix)
    wide = matrix.detach().double().requires_grad_()
    (slope,) = torch.autograd.grad(expm(wide).sum(), wide, create_graph=True)
    (exact,) = torch.autograd.grad(slope.square().sum(), wide)
    assert float((found - exact).norm() / exact.norm()) < 1e-5
