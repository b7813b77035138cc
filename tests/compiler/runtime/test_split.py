"""Products in parts are products, wherever they are written."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from compiler.runtime.split import split_product

POISON = 99.0
EXTENT = st.integers(1, 40)
DTYPES = (torch.float32, torch.bfloat16)
Split = Callable[..., torch.Tensor]


@dataclass(frozen=True)
class Case:
    """A product's arguments, and memory with gaps for its result."""

    call: Callable[..., torch.Tensor]
    added: tuple[torch.Tensor, ...]
    left: torch.Tensor
    right: torch.Tensor
    storage: torch.Tensor
    made: torch.Tensor

    @property
    def args(self) -> tuple[torch.Tensor, ...]:
        return (*self.added, self.left, self.right)


def matrix(
    shape: tuple[int, ...], turned: bool, dtype: torch.dtype, more: torch.Generator
) -> torch.Tensor:
    """Return random numbers with rows (columns if turned) a multiple of 8 apart."""
    *batch, rows, columns = shape
    if turned:
        return matrix((*batch, columns, rows), False, dtype, more).transpose(-1, -2)
    wide = torch.full((*batch, rows, columns + -columns % 8), POISON, dtype=dtype)
    values = torch.randn((*batch, rows, columns), generator=more, device="cpu")
    wide[..., :columns] = values.to(wide)
    return wide[..., :columns]


def case_of(
    extents: tuple[int, int, int],
    turned: tuple[bool, bool],
    dtype: torch.dtype,
    batch: int = 0,
    bias: str = "",
) -> Case:
    m, n, k = extents
    more = torch.Generator().manual_seed(m * 1681 + n * 41 + k)
    front = (batch,) if batch else ()
    left = matrix((*front, m, k), turned[0], dtype, more)
    right = matrix((*front, k, n), turned[1], dtype, more)
    storage = torch.full((*front, m + 1, n + -n % 8 + 8), POISON, dtype=dtype)
    made = storage[..., :m, :n]
    shapes = {"row": (n,), "matrix": (m, n), "column": (m, 1), "one": (1, n)}
    added: tuple[torch.Tensor, ...] = ()
    if bias:
        added = (torch.randn(shapes[bias], generator=more, device="cpu").to(made),)
    call: Callable[..., torch.Tensor]
    if batch:
        call = torch.baddbmm if bias else torch.bmm
    else:
        call = torch.addmm if bias else torch.mm
    return Case(call, added, left, right, storage, made)


def parts_of(extents: tuple[int, int, int]) -> tuple[int, int, int]:
    m, n, k = (extent // 8 * 8 or extent for extent in extents)
    return m, n, k


def is_right(
    case: Case,
    split: Split,
    parts: tuple[int, int, int],
    beta: float = 1.0,
    alpha: float = 1.0,
) -> bool:
    """Return whether a split product is right and writes nothing but its result.

    Each of at most K + 2 additions of float32, in any order, is off by one rounding of
    the terms' magnitudes; there are at most two roundings to the type on the way, of
    what is no greater, and one at the end.
    """
    kwargs = {"beta": beta, "alpha": alpha} if case.added else {}
    split(case.call, case.made, parts, *case.args, **kwargs)
    a, b = case.left.double(), case.right.double()
    exact, magnitude = alpha * (a @ b), alpha * (a.abs() @ b.abs())
    for added in case.added:
        exact = exact + beta * added.double()
        magnitude = magnitude + beta * added.double().abs()
    unit = torch.finfo(case.left.dtype).eps / 2
    accumulated = (a.shape[-1] + 2) * 2.0**-24
    bound = (accumulated + 3 * unit) * (1 + accumulated + 3 * unit) * magnitude
    near = bool(((case.made.double() - exact).abs() <= bound).all())
    gaps = case.storage.clone()
    gaps[..., : case.made.shape[-2], : case.made.shape[-1]] = POISON
    return near and bool((gaps == POISON).all())


@given(
    st.tuples(EXTENT, EXTENT, EXTENT),
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from(DTYPES),
    st.integers(0, 3),
    st.sampled_from(["", "row", "matrix", "column", "one"]),
)
def test_parts_are_the_product(
    extents: tuple[int, int, int],
    turned: tuple[bool, bool],
    dtype: torch.dtype,
    batch: int,
    bias: str,
) -> None:
    case = case_of(extents, turned, dtype, batch, bias)
    assert is_right(case, split_product, parts_of(extents))


@pytest.mark.parametrize("turned", [*itertools.product((False, True), repeat=2)])
@pytest.mark.parametrize("extents", [(17, 16, 16), (16, 17, 16), (16, 16, 17)])
def test_one_odd_extent(
    extents: tuple[int, int, int], turned: tuple[bool, bool]
) -> None:
    for dtype, bias in itertools.product(DTYPES, ("row", "matrix")):
        case = case_of(extents, turned, dtype, bias=bias)
        assert is_right(case, split_product, parts_of(extents), 0.5, 3.0)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("turned", [*itertools.product((False, True), repeat=2)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_on_a_gpu(dtype: torch.dtype, turned: tuple[bool, bool]) -> None:
    with torch.device("cuda"):
        for batch, bias in itertools.product((0, 3), ("", "row", "matrix")):
            for extents in ((65, 64, 64), (64, 65, 64), (64, 64, 65), (71, 77, 79)):
                case = case_of(extents, turned, dtype, batch, bias)
                assert is_right(case, split_product, parts_of(extents))


@pytest.mark.parametrize("extents", [(0, 9, 9), (9, 0, 9), (9, 9, 0)])
@pytest.mark.parametrize("bias", ["", "row"])
def test_nothing_is_a_product_too(extents: tuple[int, int, int], bias: str) -> None:
    case = case_of(extents, (False, False), torch.bfloat16, bias=bias)
    assert is_right(case, split_product, parts_of(extents))


@pytest.mark.parametrize("extents", [(5, 16, 16), (16, 5, 16), (16, 16, 5), (1, 1, 1)])
def test_what_has_no_large_part_is_one_call(extents: tuple[int, int, int]) -> None:
    calls = []
    case = case_of(extents, (False, False), torch.bfloat16)

    def counted(*args: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        calls.append(out.shape)
        return torch.mm(*args, out=out)

    split_product(counted, case.made, parts_of(extents), *case.args)
    assert calls == [extents[:2]]


def test_gradients_are_not_recorded() -> None:
    case = case_of((9, 9, 9), (False, True), torch.bfloat16, bias="row")
    case.right.requires_grad_()
    made = split_product(case.call, case.made, (8, 8, 8), *case.args)
    assert made is case.made and not made.requires_grad


def faulty(fault: str) -> Split:
    """Return a split product with a fault."""

    def split(
        call: Callable[..., torch.Tensor],
        made: torch.Tensor,
        parts: tuple[int, int, int],
        *args: torch.Tensor,
        **kwargs: float,
    ) -> torch.Tensor:
        *added, left, right = args
        if fault == "terms left out":
            left, right = left[..., : parts[2]], right[..., : parts[2], :]
        elif fault == "added twice":
            split_product(call, made, parts, *args, **kwargs)
            made += added[0]
            return made
        elif fault == "columns left out":
            made = made[..., : parts[1]]
            right, added = right[..., : parts[1]], [m[..., : parts[1]] for m in added]
        elif fault == "rows left out":
            made, left = made[..., : parts[0], :], left[..., : parts[0], :]
        elif fault == "a gap written":
            made.as_strided((1,), (1,), made.shape[-1]).zero_()
        parts = (
            min(parts[0], made.shape[-2]),
            *parts[1:2],
            min(parts[2], left.shape[-1]),
        )
        return split_product(call, made, parts, *added, left, right, **kwargs)

    return split


@pytest.mark.parametrize(
    "fault",
    [
        "terms left out",
        "added twice",
        "columns left out",
        "rows left out",
        "a gap written",
    ],
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_faults_are_found(fault: str, dtype: torch.dtype) -> None:
    extents = (17, 17, 17)
    case = case_of(extents, (False, True), dtype, bias="row")
    assert not is_right(case, faulty(fault), parts_of(extents))
    case = case_of(extents, (False, True), dtype, bias="row")
    assert is_right(case, faulty(""), parts_of(extents))
