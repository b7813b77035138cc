from itertools import product

from proofs.parametric.pieces import COPIES, Piece, PieceLayout
from verify.terms import Size, all_of, evaluate, holds, lift, variable

LAYOUT = PieceLayout(
    (Size(variable("s", 3)), 4),
    {
        "register": [Piece(1, 2), Piece(0, 4, Size(variable("p", 2)))],
        "lane": [Piece(COPIES, 2), Piece(1, 2, 2)],
    },
)


def test_applying_is_the_xor_of_bases() -> None:
    for s, p in product(range(8), range(4)):
        exponents = {"s": s, "p": p}
        bases = LAYOUT.bases(exponents)
        assert len(bases["register"]) == 3 and len(bases["lane"]) == 2
        for register, lane in product(range(8), range(4)):
            point = {"register": lift(register), "lane": lift(lane)}
            place = [evaluate(c, exponents) for c in LAYOUT.apply(point)]
            expected = [0, 0]
            for index, vectors in (
                (register, bases["register"]),
                (lane, bases["lane"]),
            ):
                for bit, vector in enumerate(vectors):
                    if index >> bit & 1:
                        expected = [
                            a ^ b for a, b in zip(expected, vector, strict=True)
                        ]
            assert place == expected


def test_sizes_and_domains() -> None:
    values = {"s": 3, "p": 1}
    sizes = {
        name: evaluate(size.value(), values) for name, size in LAYOUT.sizes().items()
    }
    assert sizes == {"register": 8, "lane": 4}
    inside = {"register": lift(7), "lane": lift(3)}
    outside = {"register": lift(8), "lane": lift(3)}
    assert holds(all_of(LAYOUT.within(inside)), values)
    assert not holds(all_of(LAYOUT.within(outside)), values)


def test_moving_bits_and_preimages() -> None:
    for s, p in product(range(8), range(4)):
        values = {"s": s, "p": p}
        for register, lane in product(range(8), range(4)):
            point = {"register": lift(register), "lane": lift(lane)}
            moving = LAYOUT.moving(point)
            kept = {name: evaluate(term, values) for name, term in moving.items()}
            still = [
                evaluate(c, values)
                for c in LAYOUT.apply({name: lift(v) for name, v in kept.items()})
            ]
            assert still == [evaluate(c, values) for c in LAYOUT.apply(point)]
            assert kept["lane"] == lane & 2
        if p == 0 and s <= 2:
            for row, column in product(range(1 << s), range(4)):
                place = LAYOUT.preimage([lift(row), lift(column)])
                back = [evaluate(c, values) for c in LAYOUT.apply(place)]
                assert back == [row, column]
