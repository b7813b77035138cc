import random
from typing import Any

import numpy as np
import pytest

from algebra import AffineLayout, LinearLayout
from compiler.codegen.gluon.tile_registers import image, renamed


class Language:
    """numpy under Gluon's names."""

    @staticmethod
    def reshape(x, shape):  # type: ignore[no-untyped-def]
        return x.reshape(shape)

    @staticmethod
    def permute(x, order):  # type: ignore[no-untyped-def]
        return x.transpose(order)

    @staticmethod
    def join(x, y):  # type: ignore[no-untyped-def]
        return np.stack([x, y], -1)

    @staticmethod
    def split(x):  # type: ignore[no-untyped-def]
        return x[..., 0], x[..., 1]


def source(columns: list[int], old: int, offset: int = 0) -> AffineLayout:
    linear = LinearLayout.from_columns(
        {"register": len(columns)}, {"register": old}, columns
    )
    return AffineLayout(linear, {"register": offset})


@pytest.mark.parametrize("seed", range(40))
def test_lines_do_what_the_map_says(seed: int) -> None:
    rng = random.Random(seed)
    old = rng.randrange(5)
    kept = rng.sample(range(old), rng.randrange(old + 1))
    columns = [1 << bit for bit in kept] + [0] * rng.randrange(3)
    rng.shuffle(columns)
    free = [bit for bit in range(old) if bit not in kept]
    offset = sum(1 << bit for bit in free if rng.random() < 0.5)
    given = source(columns, old, offset)
    lines = renamed("x", 4, given)
    assert lines is not None
    x = np.arange(4 << old).reshape(4, 1 << old)
    space: dict[str, Any] = {"x": x, "gl": Language}
    for line in lines:
        exec(line, space)
    wanted = [given({"register": r})["register"] for r in range(1 << len(columns))]
    assert np.array_equal(space["x"], x[:, wanted])


def test_xors_of_registers_are_not_names() -> None:
    assert renamed("x", 4, source([3, 2], 2)) is None
    assert renamed("x", 4, source([1], 1, 1)) is None


@pytest.mark.parametrize("seed", range(20))
def test_images_are_linear(seed: int) -> None:
    rng = random.Random(seed)
    columns = [rng.randrange(1 << 9) for _ in range(rng.randrange(6))]
    low, count = rng.randrange(4), rng.randrange(1, 5)
    text = image("t", columns, low, count) or "0"
    for t in range(1 << len(columns)):
        expected = 0
        for bit, column in enumerate(columns):
            expected ^= column if t >> bit & 1 else 0
        assert eval(text, {"t": t}) == expected >> low & (1 << count) - 1
