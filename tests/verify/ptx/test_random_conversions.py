from collections import Counter
from random import Random

import pytest

from verify.ptx.random_conversions import (
    MAX_REGISTERS,
    conversion_from_dict,
    random_conversion,
)


def test_the_same_seed_gives_the_same() -> None:
    assert random_conversion(Random(7)) == random_conversion(Random(7))


@pytest.mark.parametrize("seed", range(30))
def test_each_is_valid(seed: int) -> None:
    conversion = random_conversion(Random(seed))
    for layout in conversion.layouts("3.7"):
        assert layout.is_surjective
        assert tuple(layout.out_dims.values()) == conversion.shape
        assert layout.get_in_dim_size("lane") == 32
        assert layout.get_in_dim_size("warp") == conversion.warps
        assert layout.in_dims.get("register", 1) <= MAX_REGISTERS
    assert conversion_from_dict(conversion.to_dict()) == conversion
    assert all(text.startswith("#ttg.") for text in conversion.spelling("3.7"))


def test_every_kind_occurs() -> None:
    rng = Random(0)
    kinds: Counter[str] = Counter()
    for _ in range(200):
        kinds.update(random_conversion(rng).kind.split(" -> "))
    assert set(kinds) == {"blocked", "dot_operand", "linear", "nvidia_mma", "slice"}
    assert min(kinds.values()) > 20
