import pytest

from algebra.errors import DimMismatchError
from compiler.mixed.choose import candidates, default_tiling, fit_depth, strip_rows
from compiler.mixed.formats import FORMATS
from compiler.mixed.tiling import Problem

SIZES = [(8192, 512), (4096, 4096), (11008, 4096), (4096, 11008), (48, 320), (16, 64)]


def problems() -> list[Problem]:
    return [
        Problem(
            format=kind,
            target="bf16",
            n=n,
            k=k,
            group=kind.block or (64 if k % 128 else 128),
        )
        for kind in FORMATS.values()
        for n, k in SIZES
    ]


@pytest.mark.parametrize("m", [1, 9, 16, 17, 64, 256])
def test_all_that_is_chosen_fits(m: int) -> None:
    for problem in problems():
        chosen = [default_tiling(problem, m), *candidates(problem, m)]
        assert chosen
        for tiling in chosen:
            tiling.check(problem)
            assert tiling.rows <= strip_rows(m)


def test_candidates_are_distinct_and_begin_with_the_default() -> None:
    problem = problems()[1]
    found = candidates(problem, 16)
    assert found[0] == default_tiling(problem, 16)
    assert len(set(found)) == len(found) > 8


def test_depth() -> None:
    large = problems()[1]
    assert fit_depth(large) == 128
    assert fit_depth(large, 256) == 256
    odd = Problem(format=FORMATS["int4"], target="bf16", n=16, k=192, group=192)
    assert fit_depth(odd) == 64


def test_no_depth() -> None:
    odd = Problem(format=FORMATS["int4"], target="bf16", n=16, k=192, group=64)
    with pytest.raises(DimMismatchError, match="k=192"):
        fit_depth(odd, 32)


def test_activations_are_kept_where_a_multiprocessor_has_several_tiles() -> None:
    def chosen(n: int, k: int, m: int, name: str = "int4") -> int:
        kind = FORMATS[name]
        group = kind.block or 128
        problem = Problem(format=kind, target="bf16", n=n, k=k, group=group)
        return default_tiling(problem, m).programs

    assert chosen(11008, 4096, 1) == chosen(14336, 4096, 8, "mxfp4") == 132
    assert chosen(4096, 4096, 1) == chosen(11008, 4096, 9) == 0  # few, too many rows
    assert chosen(11008, 8192, 1) == chosen(32000, 4096, 1) == 0  # registers are full
    assert chosen(11008, 4096, 1, "int8") == chosen(11008, 3072, 1) == 0


def test_many_rows_go_by_wgmma_where_the_gpu_has_it() -> None:
    problem = problems()[1]
    for m in (17, 64, 256, 1000):
        here, elsewhere = (
            default_tiling(problem, m),
            default_tiling(problem, m, arch=100),
        )
        assert here.wgmma and not elsewhere.wgmma
        for tiling in (here, elsewhere):
            programs = tiling.splits * tiling.tiles(problem) * -(-m // tiling.rows)
            assert tiling.splits == 1 or 66 < programs <= 256
    assert not default_tiling(problem, 16).wgmma
