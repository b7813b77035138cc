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
    makers_of,
    owner,
)


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


def test_results_in_the_memory_of_inputs_are_found_there_and_not_held() -> None:
    x, y = torch.arange(6.0), torch.arange(4.0)
    results: Any = (x, x[2:5], x.view(torch.int32)[1:], y * 2, None, 7)
    fixed = {0: x.data_ptr(), 1: y.data_ptr()}
    makers, storages = makers_of(results, [x, y], fixed, 0)
    assert [s.data_ptr() for s in storages] == [results[3].data_ptr()]
    given = x[:], y
    found = [make(given) for make in makers]
    assert found[0] is given[0] and found[4:] == [None, 7]
    for one, two in zip(found[:4], results[:4], strict=True):
        assert one.data_ptr() == two.data_ptr() and torch.equal(one, two)
        assert one.dtype == two.dtype and one.stride() == two.stride()


def test_small_results_that_the_caller_gets_are_copied() -> None:
    loss, scores, kept = torch.tensor(1.0), torch.zeros(8), torch.zeros(1000)
    for shown, view, copied in [
        ([loss, scores], kept, [True, True]),
        ([loss, scores], scores[1:], [False, False]),  # not small beside what is kept
        ([loss, kept[:4]], kept, [True, False]),  # shares memory with what is kept
        ([loss, kept.view(10, 100)[:, 1]], torch.zeros(9000), [True, False]),  # gaps
    ]:
        results = [*shown, view]
        makers, _ = makers_of(results, [], {}, len(shown))
        found = [make([]) for make in makers]
        moved = [
            a.data_ptr() != b.data_ptr() for a, b in zip(found, results, strict=True)
        ]
        assert moved == [*copied, False]


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
