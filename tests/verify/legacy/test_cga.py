from itertools import product

from algebra.encodings import Cga
from verify.legacy.cga import (
    block_offset,
    block_offset_of_bases,
    shape_per_block,
    split_of_bases,
)


def test_lists_and_bases_are_two_spellings_of_one_split() -> None:
    powers = (1, 2, 4)
    for blocks in product(powers, powers):
        for split in product(powers, powers):
            if any(s > b for s, b in zip(split, blocks, strict=True)):
                continue
            for order in ([0, 1], [1, 0]):
                bases = Cga.from_split(blocks, split, order).bases
                for shape in ([64, 32], [2, 1]):
                    assert list(split_of_bases(shape, bases)) == [
                        s if bases else 1 for s in split
                    ]
                    for block in range(blocks[0] * blocks[1]):
                        assert block_offset_of_bases(block, shape, bases) == (
                            block_offset(block, shape, blocks, split, order)
                        )


def test_no_cluster() -> None:
    assert shape_per_block([64, 32], [1, 1]) == (64, 32)
    assert block_offset_of_bases(0, [64, 32], []) == [0, 0]
    assert split_of_bases([64, 32], []) == (1, 1)
    assert block_offset(0, [], [], [], []) == []
