from importlib import import_module

import pytest
import torch

from verify.mutants.compiler import applied
from verify.mutants.compiler.small import GARBAGE, Watched, small, smaller_tiles


def test_watched_arrays_are_filled_with_garbage_and_may_be_written() -> None:
    watched = Watched()
    made = watched.make((3, 5), (1, 3), torch.float32)
    assert made.stride() == (1, 3) and made.storage_offset() == 0
    assert bool(
        (
            made.view(torch.int32) == int.from_bytes([GARBAGE] * 4, "big", signed=True)
        ).all()
    )
    made.fill_(1.0)
    watched.check()
    assert watched.make((0, 4), (4, 1), torch.int64).numel() == 0


def test_watched_arrays_are_no_views_that_autograd_guards() -> None:
    made = Watched().make((3, 5), (5, 1), torch.float32)
    assert not made._is_view()


def test_a_write_behind_the_end_is_seen() -> None:
    watched = Watched()
    made = watched.make((5,), (1,), torch.int16)
    made.as_strided((6,), (1,), 0).fill_(1)
    with pytest.raises(AssertionError, match="behind the end"):
        watched.check()


def test_blocks_are_small_for_a_while() -> None:
    scan = import_module("compiler.codegen.cpp.scan")
    tile = import_module("compiler.codegen.triton.tile")
    before = scan.CHUNK, tile.power_above(100)
    with applied((*small(Watched()), *smaller_tiles())):
        assert (scan.CHUNK, tile.power_above(100)) == (8, 8)
    assert (scan.CHUNK, tile.power_above(100)) == before
