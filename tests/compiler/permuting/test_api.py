"""permute obeys its law: maps, widths, batches, strides, out, on every CPU path."""

import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import AffineLayout, LinearLayout
from algebra.errors import NotInvertibleError, UnsupportedLayoutError
from compiler import permute
from compiler.errors import SizeMismatchError
from compiler.permutations import from_columns, transpose
from compiler.permuting.execute import Backend
from compiler.permuting.index_map import IndexMap
from verify.strategies.layouts import affine_layouts

Images = npt.NDArray[np.int64]
RandomMap = Callable[[random.Random, int], IndexMap]

PATHS: tuple[Backend, ...] = ("cpp", "interpreter", "torch")
DTYPES = (torch.int8, torch.float16, torch.float32, torch.int64, torch.complex128)
ALL_DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.int16,
    torch.uint16,
    torch.float16,
    torch.bfloat16,
    torch.int32,
    torch.float32,
    torch.int64,
    torch.float64,
    torch.complex64,
    torch.complex128,
)
MAPS, CHUNKS = 500, 10


def layout_of(map: IndexMap) -> AffineLayout:
    return AffineLayout(from_columns(map.columns), {"index": map.offset})


def random_tensor(seed: int, numel: int, dtype: torch.dtype) -> torch.Tensor:
    size = torch.empty(0, dtype=dtype).element_size()
    data = np.random.default_rng(seed).integers(0, 256, numel * size, dtype=np.uint8)
    if dtype is torch.bool:
        data &= 1
    return torch.from_numpy(data).view(dtype) if numel else torch.empty(0, dtype=dtype)


def elements(tensor: torch.Tensor) -> npt.NDArray[np.uint8]:
    """Return the bytes of each element [numel, element_size]."""
    flat = tensor.contiguous().view(-1)
    size = flat.element_size()
    return flat.view(torch.uint8).numpy().reshape(-1, size)


def obeys(result: torch.Tensor, tensor: torch.Tensor, places: Images) -> bool:
    """Say whether ``result[b, places[i]] == tensor[b, i]`` bit for bit."""
    shape = (-1, len(places), tensor.element_size())
    got, given_ = elements(result).reshape(shape), elements(tensor).reshape(shape)
    return bool((got[:, places] == given_).all())


@pytest.mark.parametrize(
    "chunk",
    [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, CHUNKS))],
)
def test_500_random_affine_maps_on_both_cpu_kernels(
    chunk: int, random_map: RandomMap, images: Callable[[IndexMap], Images]
) -> None:
    """Maps of 2 to 17 bits; the interpreter takes seconds for larger ones."""
    for case in range(chunk, MAPS, CHUNKS):
        rng = random.Random(case)
        bits = 15 + case // 41 % 3 if case % 41 == 0 else 2 + case % 13
        dtype = DTYPES[rng.randrange(5 if bits < 11 else 3 if bits < 15 else 1)]
        batch = rng.choice((1, 1, 1, 2, 3)) if bits < 14 else 1
        map = random_map(rng, bits)
        places = images(map)
        tensor = random_tensor(case, batch << bits, dtype)
        for backend in ("cpp", "interpreter"):
            result = permute(tensor, layout_of(map), backend=backend)
            assert obeys(result, tensor, places), (case, backend, map, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("bits", range(2, 21))
def test_more_maps_of_every_size_in_every_width(
    bits: int, random_map: RandomMap, images: Callable[[IndexMap], Images]
) -> None:
    for case in range(25):
        rng = random.Random(f"{bits} {case}")
        map = random_map(rng, bits)
        tensor = random_tensor(case, 1 << bits, DTYPES[case % 5])
        for backend in PATHS if case < 5 else ("cpp", "torch"):
            result = permute(tensor, layout_of(map), backend=backend)
            assert obeys(result, tensor, images(map)), (case, backend, map)


@given(
    affine_layouts(max_bits=6),
    st.integers(0, 5),
    st.sampled_from(DTYPES),
    st.sampled_from(PATHS),
)
@settings(max_examples=150)
def test_the_law(
    layout: AffineLayout, batch: int, dtype: torch.dtype, backend: Backend
) -> None:
    map = IndexMap.from_layout(layout)
    tensor = random_tensor(1, batch << map.bits, dtype)
    result = permute(tensor, layout, backend=backend)
    assert result.shape == tensor.shape
    places = np.array([map(i) for i in range(1 << map.bits)])
    assert obeys(result, tensor, places)


@given(affine_layouts(max_bits=8), st.sampled_from(DTYPES))
def test_the_inverse_brings_everything_back(
    layout: AffineLayout, dtype: torch.dtype
) -> None:
    tensor = random_tensor(2, 3 << IndexMap.from_layout(layout).bits, dtype)
    back = permute(permute(tensor, layout), layout.invert())
    assert (elements(back) == elements(tensor)).all()


@pytest.mark.parametrize("backend", PATHS)
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_every_dtype_moves_as_bytes(dtype: torch.dtype, backend: Backend) -> None:
    tensor = random_tensor(3, 3 << 6, dtype)
    result = permute(tensor, transpose(8, 8), backend=backend)
    assert result.dtype == dtype
    places = np.arange(64).reshape(8, 8).T.ravel()
    assert obeys(result, tensor, places)


@pytest.mark.parametrize("backend", PATHS)
def test_strided_offset_and_expanded_input(backend: Backend) -> None:
    base = torch.arange(300.0)[7:].as_strided((4, 2, 8), (3, 100, 11))
    before = base.clone()
    flip = from_columns([32, 16, 8, 4, 2, 1])
    result = permute(base, flip, backend=backend)
    assert torch.equal(result, permute(base.contiguous(), flip, backend=backend))
    assert result.shape == base.shape and result.is_contiguous()
    assert torch.equal(base, before)
    ones = torch.arange(4.0)[:, None].expand(4, 16)
    assert torch.equal(permute(ones, flip), permute(ones.contiguous(), flip))


def test_lazy_conjugates_and_negatives_are_resolved() -> None:
    z = torch.complex(torch.arange(4.0), torch.arange(4.0) + 1)
    swap = from_columns([2, 1])
    assert torch.equal(permute(z.conj(), swap), permute(z, swap).conj())
    assert torch.equal(permute(z.conj().imag, swap), -permute(z.imag, swap))


def test_an_address_that_is_not_a_multiple_of_the_width() -> None:
    raw = torch.from_numpy(np.arange(33, dtype=np.uint8))
    odd = torch.frombuffer(raw.numpy().data, dtype=torch.int32, offset=1)
    flip = from_columns([4, 2, 1])
    assert torch.equal(permute(odd, flip), permute(odd.clone(), flip))
    out = torch.frombuffer(bytearray(33), dtype=torch.int32, offset=1)
    assert permute(odd, flip, out) is out
    assert torch.equal(out, permute(odd, flip))


@pytest.mark.parametrize("backend", PATHS)
def test_no_elements_and_no_bits(backend: Backend) -> None:
    swap = from_columns([2, 1])
    empty = torch.empty(0, 4, 7)
    assert permute(empty, swap, backend=backend).shape == (0, 4, 7)
    scalar = torch.tensor(3.0)
    result = permute(scalar, LinearLayout.empty(), backend=backend)
    assert result.shape == () and torch.equal(result, scalar) and result is not scalar


@pytest.mark.parametrize("backend", PATHS)
def test_out_takes_the_result(backend: Backend) -> None:
    tensor, swap = torch.arange(8.0).view(2, 4), from_columns([2, 1])
    out = torch.full((2, 4), torch.nan)
    assert permute(tensor, swap, out, backend=backend) is out
    assert out.tolist() == [[0, 2, 1, 3], [4, 6, 5, 7]]


def test_a_singular_map_is_refused_before_anything_moves() -> None:
    singular = LinearLayout.from_bases(
        {"index": [[1], [1]]}, {"index": 4}, require_surjective=False
    )
    with pytest.raises(NotInvertibleError, match="kernel vector 3"):
        permute(torch.arange(4), singular)


def test_not_a_layout() -> None:
    with pytest.raises(UnsupportedLayoutError, match="of type str"):
        permute(torch.arange(4), "transpose")  # type: ignore[arg-type]


def test_a_wrong_number_of_elements() -> None:
    with pytest.raises(SizeMismatchError, match=r"numel=6, shape=\(2, 3\)") as caught:
        permute(torch.zeros(2, 3), from_columns([2, 1]))
    assert caught.value.facts == {"numel": 6, "bits": 2}
