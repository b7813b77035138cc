import pytest
import torch

from compiler.frontend.overlap import (
    overlap_guard,
    overlaps_itself,
    shared_at_capture,
    unless_they_overlap,
)


def test_numbers_of_shared_storages() -> None:
    base = torch.zeros(4)
    assert shared_at_capture([base[1:], 3, torch.zeros(2), base]) == [0, 1, 2, 0]


def test_what_lies_apart_on_one_storage_shares_nothing() -> None:
    base = torch.zeros(6)
    assert shared_at_capture([base[:3], base[3:], base[2:4]]) == [0, 1, 0]
    assert shared_at_capture([base[:0], base, base[:3].view(3, 1)]) == [0, 1, 1]


@pytest.mark.parametrize(
    ("one", "other", "overlaps"),
    [
        (slice(0, 3), slice(2, 5), True),
        (slice(2, 5), slice(0, 3), True),
        (slice(0, 3), slice(3, 6), False),
        (slice(0, 0), slice(0, 6), False),
        (slice(0, 6), slice(2, 4), True),
    ],
)
def test_slices_of_one_array(one: slice, other: slice, overlaps: bool) -> None:
    base = torch.zeros(6)
    for mutated in ([0], [1], [0, 1]):
        assert overlap_guard(mutated, [0, 1])([base[one], base[other]]) == overlaps


def test_what_shared_at_capture_is_guarded_by_dynamo() -> None:
    base = torch.zeros(6)
    assert not overlap_guard([0], [0, 0])([base, base])
    assert overlap_guard([0], [0, 0, 2])([base, base, base])


def test_arguments_that_are_only_read_may_share() -> None:
    base = torch.zeros(6)
    assert not overlap_guard([2], [0, 1, 2])([base, base, torch.zeros(6)])


def test_sizes_among_the_arguments() -> None:
    base = torch.zeros(6)
    guard = overlap_guard([1], [0, 1, 2, 3])
    assert not guard([4, base, None, torch.zeros(1)])
    assert guard([4, base, None, base[3:]])


def test_strided_arguments() -> None:
    base = torch.zeros(4, 6)
    guard = overlap_guard([0], [0, 1])
    assert guard([base[:, 1], base[:, 2]])  # they interleave: taken as overlapping
    assert not guard([base[:2, 1], base[2:, 1]])


@pytest.mark.parametrize(
    ("shape", "strides", "overlaps"),
    [
        ((), (), False),
        ((3,), (0,), True),
        ((1, 3), (0, 1), False),
        ((2, 3), (3, 1), False),
        ((2, 3), (1, 2), False),
        ((2, 3), (2, 1), True),
        ((3, 3, 1, 1), (24, 12, 4, 1), True),
        ((0, 3), (0, 1), False),
        ((2, 2, 2), (9, 4, 1), False),
    ],
)
def test_elements_that_share_memory(
    shape: tuple[int, ...], strides: tuple[int, ...], overlaps: bool
) -> None:
    value = torch.zeros(99).as_strided(shape, strides)
    assert overlaps_itself(value) is overlaps
    places = torch.arange(99).as_strided(shape, strides)
    assert (places.unique().numel() < places.numel()) == overlaps


def test_a_written_argument_that_overlaps_itself_runs_as_written() -> None:
    ways = []

    def run(*args: object) -> None:
        ways.append("compiled")

    def as_written(*args: object) -> None:
        ways.append("as written")

    windows = torch.zeros(7).unfold(0, 3, 2)
    for mutated in ([0], [1]):
        unless_they_overlap(run, as_written, mutated, [windows, torch.zeros(2)])(
            windows, torch.zeros(2)
        )
    assert ways == ["as written", "compiled"]


@pytest.mark.parametrize("strides", [(1, 1), (2, 1), (1, 2), (4, 1)])
def test_parts_written_into_copies_that_overlap_themselves(
    strides: tuple[int, int],
) -> None:
    """A row of windows over one memory is a part of the others too."""

    def views(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x + 1
        z = y.as_strided((3, 4), strides)
        z[0] = 9.0
        return y, z * 1

    def copies(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        z = x.as_strided((3, 4), strides)
        new = torch.diagonal_scatter(z, torch.full((3,), 7.0))
        rows = torch.select_scatter(new, new[0] * 2, 0, 1)
        return rows, torch.slice_scatter(z, z[:1] * 2, 0, 1, 2)

    for function in (views, copies):
        torch.compiler.reset()
        x = torch.arange(12.0)
        compiled = torch.compile(function, backend="tilewright")
        for ours, theirs in zip(compiled(x), function(x), strict=True):
            assert ours.stride() == theirs.stride()
            assert torch.equal(ours, theirs)


def test_later_calls_may_overlap_where_sizes_are_symbols() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.diagonal_scatter(x, x.diagonal() * 2).cummin(1)[1]

    compiled = torch.compile(function, backend="tilewright", dynamic=True)
    memory = torch.randn(99, generator=torch.Generator().manual_seed(0))
    for sizes, strides in (
        *(((3, 4), (4, 1)), ((5, 4), (1, 1)), ((5, 6), (6, 1))),
        *(((4, 5), (3, 2)), ((7, 2), (2, 1)), ((2, 7), (1, 2)), ((6, 6), (2, 2))),
    ):
        x = memory.as_strided(sizes, strides)
        found, due = compiled(x), function(x)
        assert torch.equal(found, due) and found.stride() == due.stride()


def test_a_part_of_an_overlapping_argument_beside_its_alias_is_not_lost() -> None:
    """Functionalisation cannot write it (``aot_eager`` fails)."""

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        found = y + 0
        x.diagonal().zero_()
        return found

    memory = torch.tensor([4])
    x = memory.as_strided((2, 1), (0, 1))
    compiled = torch.compile(function, backend="tilewright")
    assert compiled(x, x.as_strided((1,), (1,))) == 4
    assert memory == 0


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_overlapping_argument_beside_its_alias_runs_as_written(
    dynamic: bool,
) -> None:
    """PyTorch joins the two to one input, so inputs have other numbers."""

    def function(scale: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        found = x * scale
        y.add_(2)
        return found

    compiled = torch.compile(function, backend="tilewright", dynamic=dynamic)
    for rows in (3, 4):
        found, due = torch.arange(40.0), torch.arange(40.0)
        for call, memory in ((compiled, found), (function, due)):
            window = memory.as_strided((rows, 17), (4, 1), 1)
            call(torch.tensor(2.0), window, memory.as_strided((rows, 17), (4, 1), 1))
        assert torch.equal(found, due)
        assert due[9] == 15  # written three times
