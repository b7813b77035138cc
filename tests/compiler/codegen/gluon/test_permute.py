"""The kernel's PTX for sm_90 moves every element of whole maps to its place."""

import os
import random
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from algebra import gauss
from compiler import permutations
from compiler.codegen.gluon.permute import kernel_constants, permute_kernel
from compiler.permuting.index_map import IndexMap
from compiler.permuting.vector_launch import VectorLaunch, plan_vector_launch
from compiler.triton_api import compile_gluon

RandomMap = Callable[[random.Random, int], IndexMap]
Images = Callable[[IndexMap], npt.NDArray[np.int64]]
REVERSAL = IndexMap(tuple(1 << i for i in reversed(range(28))))
BITS = {1: 15, 2: 14, 4: 13}
SIGNATURE = {"source": "*i32", "target": "*i32"}


def compiled(launch: VectorLaunch) -> tuple[str, int]:
    kernel = compile_gluon(
        permute_kernel,
        SIGNATURE,
        kernel_constants(launch),
        aligned=("source", "target"),
        num_warps=launch.num_warps,
    )
    return str(kernel.asm["ptx"]), int(kernel.metadata.shared)


def check(
    map: IndexMap, width: int, images: Images, execute: Callable[..., None]
) -> VectorLaunch:
    launch = plan_vector_launch(map, width)
    assert launch is not None
    ptx, shared = compiled(launch)
    source = np.random.default_rng(1).integers(0, 256, width << map.bits, np.uint8)
    target = np.full_like(source, 0xA5)
    programs = 1 << launch.program_bits
    execute(
        *(ptx, source, target),
        **{"shared": shared, "warps": launch.num_warps, "programs": programs},
    )
    moved = target.reshape(-1, width)[images(map)]
    assert (moved == source.reshape(-1, width)).all()
    return launch


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_random_maps(
    seed: int,
    width: int,
    random_map: RandomMap,
    images: Images,
    execute: Callable[..., None],
) -> None:
    check(random_map(random.Random(seed), BITS[width]), width, images, execute)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 2, 4])
def test_more_random_maps(
    width: int, random_map: RandomMap, images: Images, execute: Callable[..., None]
) -> None:
    for seed in range(100, 160):
        check(random_map(random.Random(seed), BITS[width]), width, images, execute)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_narrow_images_run_backwards(
    width: int, images: Images, execute: Callable[..., None]
) -> None:
    """Eight channels last: a block would hold what lies side by side."""
    layout = permutations.permute_axes((8, 1 << (BITS[width] - 3)), (1, 0))
    launch = check(IndexMap.from_layout(layout), width, images, execute)
    assert launch.backward == (width < 4)


def test_a_map_that_swaps_halves_of_vectors_now_and_then(
    images: Images, execute: Callable[..., None]
) -> None:
    columns = [1 << i for i in range(13)]
    columns[12] ^= 0b10
    columns[6] ^= 0b01
    check(IndexMap(tuple(columns), 0b11), 4, images, execute)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_all_accesses_of_memory_are_16_bytes_wide(width: int) -> None:
    rng, columns = random.Random(width), [0]
    while gauss.rank(columns) < 28:
        columns = [rng.getrandbits(28) for _ in range(28)]
    for map in (REVERSAL, IndexMap(tuple(columns))):
        launch = plan_vector_launch(map, width)
        assert launch is not None and not launch.backward
        text, _ = compiled(launch)
        vectors = (width << launch.plan.tile_bits) // (16 * 32 * launch.num_warps)
        assert len(re.findall(r"cp\.async\.cg\.shared\.global", text)) == vectors
        assert len(re.findall(r"st\.global\.v4\.b32", text)) == vectors
        assert len(re.findall(r"\bst\.", text)) == vectors
        assert not re.search(r"ld\.shared[.\w]*\.b(8|16)\b", text)


def test_addresses_of_more_than_31_bits() -> None:
    """The interpreter has no such memory; the constants reach the text."""
    launch = plan_vector_launch(IndexMap(tuple(1 << i for i in reversed(range(33)))), 4)
    assert launch is not None and launch.constants()["WIDE"]
    text, _ = compiled(launch)
    assert "shl.b64" in text


@pytest.mark.slow
@pytest.mark.parametrize("release", ["3.6.0", "3.9.0"])
def test_compiles_on_other_releases(
    release: str, repository: Path, tmp_path: Path
) -> None:
    wheel = repository.parent / ".oracle" / release
    if not wheel.is_dir():
        pytest.skip(f"no folder {wheel}: pip install --target it")
    script = textwrap.dedent(f"""
        import triton
        assert triton.__version__ == {release!r}, triton.__version__
        from compiler.codegen.gluon.permute import kernel_constants, permute_kernel
        from compiler.permuting.index_map import IndexMap
        from compiler.permuting.vector_launch import plan_vector_launch
        from compiler.triton_api import compile_gluon
        for columns in ([1 << i for i in reversed(range(26))],
                        [3 << i for i in range(25)] + [1 << 25]):
            for width in (1, 2, 4):
                launch = plan_vector_launch(IndexMap(tuple(columns)), width)
                kernel = compile_gluon(
                    permute_kernel, {SIGNATURE!r}, kernel_constants(launch),
                    aligned=("source", "target"), num_warps=launch.num_warps)
                assert "st.global.v4.b32" in kernel.asm["ptx"]
    """)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{wheel}{os.pathsep}{repository}",
        "TRITON_CACHE_DIR": str(tmp_path),
    }
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
