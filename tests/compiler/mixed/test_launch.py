from compiler.mixed.formats import FORMATS
from compiler.mixed.launch import build
from compiler.mixed.tiling import Problem, Tiling


def test_kernels_are_built_once() -> None:
    problem = Problem(format=FORMATS["int4"], target="bf16", n=64, k=256, group=128)
    tiling = Tiling(rows=8, warps_k=2)
    text, kernel = build(problem, tiling, True)
    assert build(problem, tiling, True)[1] is kernel
    assert list(text.signature) == list(kernel.arg_names)
    assert text.programs == (4, 1)
