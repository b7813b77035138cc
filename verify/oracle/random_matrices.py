"""Random matrices over F2 from a seed, as columns packed in ints."""

from collections.abc import Sequence
from random import Random


def random_invertible(rng: Random, bits: int) -> list[int]:
    """Return the columns of a random invertible matrix.

    A permutation after a product of elementary column operations.

    Example:
        >>> from algebra.gauss import rank
        >>> rank(random_invertible(Random(0), 6))
        6
    """
    columns = [1 << bit for bit in range(bits)]
    rng.shuffle(columns)
    if bits > 1:
        for _ in range(rng.randint(0, 2 * bits)):
            target, source = rng.sample(range(bits), 2)
            columns[target] ^= columns[source]
    return columns


def random_surjective(rng: Random, in_bits: int, out_bits: int) -> list[int]:
    """Return the columns of a random matrix of full row rank.

    Args:
        rng: Source of randomness.
        in_bits: Number of columns, at least ``out_bits``.
        out_bits: Number of rows.
    """
    columns = random_invertible(rng, out_bits)
    span = (1 << out_bits) - 1
    for _ in range(in_bits - out_bits):
        extra = 0 if rng.random() < 0.5 else rng.randint(0, span)
        columns.insert(rng.randint(0, len(columns)), extra)
    return columns


def random_permutation_bases(
    rng: Random, bits: Sequence[int], zeros: int, *, mixed: bool = False
) -> list[list[int]]:
    """Return vectors over some dims, one a bit, that reach every coordinate.

    Args:
        rng: Source of randomness.
        bits: Exponent of the size of each dim.
        zeros: How many zero vectors to mix in.
        mixed: Allow vectors that move along several dims.
    """
    total = sum(bits)
    columns = (
        random_invertible(rng, total) if mixed else [1 << bit for bit in range(total)]
    )
    columns += [0] * zeros
    rng.shuffle(columns)
    vectors = []
    for column in columns:
        vector = []
        for size in bits:
            vector.append(column & (1 << size) - 1)
            column >>= size
        vectors.append(vector)
    return vectors
