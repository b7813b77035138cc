"""Random index maps, and the law of a permutation evaluated by numpy."""

import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from algebra import gauss
from compiler.permuting.index_map import IndexMap

Images = npt.NDArray[np.int64]


def shuffled(rng: random.Random, bits: int) -> list[int]:
    columns = [1 << i for i in range(bits)]
    rng.shuffle(columns)
    return columns


def dense(rng: random.Random, bits: int) -> list[int]:
    while True:
        columns = [rng.getrandbits(bits) for _ in range(bits)]
        if gauss.rank(columns) == bits:
            return columns


def sheared(rng: random.Random, bits: int) -> list[int]:
    columns = shuffled(rng, bits)
    for _ in range(rng.randrange(1, 4)):
        i, j = rng.randrange(bits), rng.randrange(bits)
        if i != j:
            columns[i] ^= columns[j]
    return columns


def split(rng: random.Random, bits: int) -> list[int]:
    low = rng.randrange(bits + 1)
    high = dense(rng, bits - low) if low < bits else []
    return [*(dense(rng, low) if low else []), *(column << low for column in high)]


@pytest.fixture
def random_map() -> Callable[[random.Random, int], IndexMap]:
    """Draw an invertible affine map of so many bits, of one of four kinds."""

    def draw(rng: random.Random, bits: int) -> IndexMap:
        kinds = (shuffled, sheared, split, dense)
        columns = rng.choice(kinds)(rng, bits) if bits else []
        offsets = (0, rng.getrandbits(bits) if bits else 0)
        return IndexMap(tuple(columns), rng.choice(offsets))

    return draw


@pytest.fixture
def images() -> Callable[[IndexMap], Images]:
    """Evaluate a map at every index, bit by bit."""

    def evaluate(map: IndexMap) -> Images:
        index = np.arange(1 << map.bits, dtype=np.int64)
        result = np.full_like(index, map.offset)
        for bit, column in enumerate(map.columns):
            result ^= (index >> bit & 1) * column
        return result

    return evaluate
