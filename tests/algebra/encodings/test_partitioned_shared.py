"""Pieces of a tensor in several memories."""

from itertools import product
from typing import Any

import pytest

from algebra.encodings import Blocked, Cga, PartitionedShared, SwizzledShared
from algebra.errors import EncodingError, NotPowerOfTwoError


def piece() -> SwizzledShared:
    return SwizzledShared(vec=1, per_phase=1, max_phase=4, order=(1, 0))


def test_pieces_are_dealt_out_in_turn() -> None:
    for partitions, groups, dim in product((2, 4), (1, 2), (0, 1)):
        shared = PartitionedShared(
            num_partitions=partitions,
            num_groups=groups,
            partition_dim=dim,
            partition_layout=piece(),
        )
        shape = [32, 32]
        layout = shared.to_linear_layout(shape)
        assert layout.in_names == ("offset", "partition", "block")
        assert layout.is_invertible
        size = 32 // (partitions * groups)
        inner_bits = 10 - (partitions * groups).bit_length() + 1
        for partition, group in product(range(partitions), range(groups)):
            point = {
                "offset": group << inner_bits,
                "partition": partition,
                "block": 0,
            }
            expected = (group * partitions + partition) * size
            assert layout.apply(point)[f"dim{dim}"] == expected


def shared(**changes: Any) -> PartitionedShared:
    parameters: dict[str, Any] = {
        "num_partitions": 2,
        "num_groups": 1,
        "partition_dim": 0,
        "partition_layout": piece(),
    }
    return PartitionedShared(**(parameters | changes))


def test_value_and_text() -> None:
    assert shared().cga == Cga()
    assert shared().rank == 2
    assert eval(repr(shared())) == shared()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"num_partitions": 1}, EncodingError, "num_partitions to be an integer >= 2"),
        ({"num_groups": 3}, NotPowerOfTwoError, "num_groups=3"),
        ({"partition_dim": 2}, EncodingError, "choose one of its dims"),
        (
            {
                "partition_layout": Blocked(
                    size_per_thread=(1,),
                    threads_per_warp=(1,),
                    warps_per_cta=(1,),
                    order=(0,),
                )
            },
            EncodingError,
            "partition_layout=Blocked",
        ),
    ],
)
def test_parameters_that_do_not_fit(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        shared(**changes)


def test_fewer_elements_than_pieces() -> None:
    with pytest.raises(EncodingError, match="needs 2 elements or more in dim 0"):
        shared().to_linear_layout([1, 8])
