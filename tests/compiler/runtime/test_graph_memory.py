"""Memory of recordings: copies of inputs, results in others' memory, holders."""

import gc
from typing import Any

import pytest
import torch

from compiler.runtime.graph_memory import (
    Pool,
    Recording,
    Site,
    apart,
    like,
    owner,
)
from compiler.runtime.graph_results import makers_of


def made(*results: torch.Tensor, pool: Pool | None = None) -> Recording:
    """Return a recording that does nothing and has results of its own."""
    makers, storages = makers_of(results, [], {}, 0)
    recording = Recording(
        lambda: None, {}, {}, makers, Site(), pool or Pool(), {}, storages
    )
    del makers, storages, results
    return recording


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6.0),
        torch.arange(6.0)[1::2],
        torch.arange(12.0).view(3, 4).t()[1:],
        torch.arange(3.0)[:, None].expand(3, 4),
        torch.tensor(2.0).expand(2, 3),
        torch.arange(6.0).unfold(0, 4, 1),
        torch.arange(6.0).unfold(0, 4, 1)[:, None].expand(3, 2, 4),
        torch.zeros(0, 3),
        torch.tensor(1.0),
    ],
)
def test_memory_like_an_input_takes_its_values(tensor: torch.Tensor) -> None:
    copy = like(tensor, written=False)
    apart(copy).copy_(apart(tensor))
    assert torch.equal(copy, tensor) and copy.stride() == tensor.stride()
    if tensor.numel():
        assert copy.data_ptr() != tensor.data_ptr()


def test_what_is_written_back_has_elements_apart() -> None:
    like(torch.zeros(4, 3).t(), written=True)
    with pytest.raises(ValueError, match="overlaps itself"):
        like(torch.zeros(3, 1).expand(3, 4), written=True)


def test_holders_of_results_are_seen() -> None:
    recording = made(torch.zeros(3), torch.zeros(4))
    recording.settle()
    assert recording.free()
    first, second = recording.run([], frozenset())
    assert not recording.free() and owner(first) is recording
    view = second[1:]
    del first, second
    gc.collect()
    assert not recording.free() and owner(view) is recording
    del view
    assert recording.free() and owner(torch.zeros(3)) is None


def test_a_replay_endangers_results_of_later_recordings_of_its_pool() -> None:
    pool = Pool()
    recordings = [made(torch.zeros(3), pool=pool) for _ in range(3)]
    other = made(torch.zeros(3))
    for recording in [*recordings, other]:
        recording.settle()
    first, second, third = recordings
    held: Any = [r.run([], frozenset()) for r in [*recordings, other]]
    assert first.endangered() == [second, third]
    assert second.endangered() == [third] and not third.endangered()
    del recordings, third, recording
    assert first.endangered() == [second, None]  # gone, but its result is held
    held.clear()
    assert not first.endangered()


def test_memory_of_a_recording_that_is_gone_belongs_to_nobody() -> None:
    recording = made(torch.zeros(3))
    recording.settle()
    (result,) = recording.run([], frozenset())
    assert owner(result) is recording
    del recording
    assert owner(result) is None


def test_what_it_lets_go_of_is_known_by_its_address() -> None:
    lasting = bytearray(32)  # as a recorder's pool does
    whole = torch.frombuffer(lasting, dtype=torch.float32).view(2, 4)
    whole.copy_(torch.arange(8.0).view(2, 4))
    recording = made(whole, whole[1], torch.zeros(3))
    del whole
    recording.settle()
    kept, part, other = recording.run([], frozenset())
    assert recording.let_go(kept) is None  # somebody holds its second row
    del part
    block = recording.let_go(kept)
    assert block is not None and recording.let_go(kept) is None
    assert block.address == kept.data_ptr() and not recording.free()
    del kept, other
    assert recording.free() and len(recording.storages) == 1
    for _ in range(2):
        kept, part, other = recording.run([], frozenset())
        assert kept.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
        assert part.tolist() == [4, 5, 6, 7] and other.tolist() == [0] * 3
        del kept, other
        assert owner(part) is recording and not recording.free()
        del part
        assert recording.free()


def test_recordings_before_and_after_what_was_let_go_of() -> None:
    pool, lasting = Pool(), bytearray(12)
    first = made(torch.frombuffer(lasting, dtype=torch.float32), pool=pool)
    second = made(torch.zeros(3), pool=pool)
    for recording in (first, second):
        recording.settle()
    (kept,) = first.run([], frozenset())
    block = first.let_go(kept)
    assert block is not None and pool.closed()
    third = made(torch.zeros(3), pool=pool)
    third.settle()
    assert third.endangered() == [first] and not second.endangered()
    third.taken = frozenset({block.address})
    assert not third.endangered()
    del kept
    assert not pool.closed()
