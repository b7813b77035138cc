from collections.abc import Callable
from random import Random

import pytest

from algebra.encodings import Blocked
from algebra.layout import LinearLayout
from algebra.verdict import Proved
from proofs.parametric.blocked import ORDERS, parametric, subject


def layout(order: tuple[int, ...], release: str) -> Callable[..., LinearLayout]:
    def build(e: dict[str, int]) -> LinearLayout:
        rank = len(order)
        encoding = Blocked(
            size_per_thread=tuple(1 << e[f"p{k}"] for k in range(rank)),
            threads_per_warp=tuple(1 << e[f"t{k}"] for k in range(rank)),
            warps_per_cta=tuple(1 << e[f"w{k}"] for k in range(rank)),
            order=order,
        )
        return encoding.to_linear_layout(
            [1 << e[f"s{k}"] for k in range(rank)], release
        )

    return build


def draw(rank: int) -> Callable[[Random], dict[str, int]]:
    """Draw exponents whose sums are within the box."""

    def make(rng: Random) -> dict[str, int]:
        exponents = {f"{name}{k}": 0 for name in "ptw" for k in range(rank)}
        for name, bits in (
            ("t", 5),
            ("w", rng.randint(0, 5)),
            ("p", rng.randint(0, 4)),
        ):
            for _ in range(bits):
                exponents[f"{name}{rng.randrange(rank)}"] += 1
        return exponents

    return make


@pytest.mark.parametrize("order", [(0,), *ORDERS[2], *ORDERS[3]])
def test_pieces_are_the_bases_of_the_algebra(
    agrees: Callable[..., int], order: tuple[int, ...]
) -> None:
    assert (
        agrees(subject(len(order), order), layout(order, "3.9"), 20, draw(len(order)))
        == 20
    )


def test_pieces_with_repeated_registers(agrees: Callable[..., int]) -> None:
    kept = subject(2, (1, 0), keep_repeated_registers=True)
    assert agrees(kept, layout((1, 0), "3.8"), 20, draw(2)) == 20


def test_small_theorems_are_proved() -> None:
    for theorem in parametric():
        if theorem.name in (
            "blocked_1d_is_its_index_formula",
            "blocked_2d_is_its_index_formula_in_order_10",
            "blocked_2d_positions_are_in_range",
        ):
            assert isinstance(theorem.prove(60), Proved)


def test_the_largest_box_is_over_ten_million() -> None:
    assert max(theorem.instances for theorem in parametric()) > 10_000_000
