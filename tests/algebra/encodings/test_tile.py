"""The tile that conversions grow."""

from algebra.encodings.cga import ONE_CTA, Cga
from algebra.encodings.tile import Tile


def test_pieces_repeat_and_clamp() -> None:
    tile = Tile([3, 1], ONE_CTA)
    tile.identity("register", 0, 2)
    tile.identity("lane", 1, 4)
    tile.zeros("warp", 2)
    layout = tile.finish([1, 0])
    assert layout.bases == {
        "register": ((1, 0), (2, 0), (4, 0)),
        "lane": ((0, 1), (0, 0)),
        "warp": ((0, 0),),
        "block": (),
    }


def test_standard_order_and_broadcast() -> None:
    tile = Tile([2, 2], ONE_CTA)
    tile.standard("lane", [2, 2], [1, 0], broadcast=0)
    assert tile.filled == [0, 1]
    assert tile.finish([0, 1]).bases["lane"] == ((0, 1), (0, 0))


def test_vectors_lose_the_components_outside_of_a_cta() -> None:
    tile = Tile([2, 2], Cga(bases=((0, 1),)), ("offset",))
    tile.vector("offset", (1, 1))
    tile.vector("offset", (2, 2))
    tile.cover(0, 4)
    tile.cover(1, 2)
    layout = tile.finish([0, 1])
    assert layout.bases == {"offset": ((1, 1), (2, 0)), "block": ((0, 2),)}


def test_zeros_can_be_dropped_and_bits_moved() -> None:
    tile = Tile([1], ONE_CTA)
    tile.identity("register", 0, 4)
    tile.drop_zeros("register")
    tile.move("register", "lane", 0)
    tile.move("register", "lane", 0)
    assert tile.finish([0]).bases["lane"] == ((1,), (0,))


def test_bits_can_be_exchanged() -> None:
    tile = Tile([2], ONE_CTA, ("row", "col"))
    tile.identity("row", 0, 2)
    tile.identity("col", 0, 2)
    tile.exchange("row", 0, "col", 0)
    assert tile.width("row") == 1
    assert tile.finish([0]).bases["row"] == ((2,),)
