"""CUDA graphs' rules, with a recorder that repeats the work on a CPU."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from compiler.runtime.graphs import MOST, GraphedCall


class Recorder:
    """Stands for a CUDA graph: replays write into the memory of the recording."""

    def __init__(self) -> None:
        self.recorded = self.replayed = 0

    def __call__(
        self, work: Callable[[], tuple[Any, ...]]
    ) -> tuple[Any, Callable[[], None]]:
        self.recorded += 1
        results = work()
        addresses = [r.untyped_storage() for r in results]

        def replay() -> None:
            self.replayed += 1
            for kept, fresh in zip(addresses, work(), strict=True):
                kept.copy_(fresh.untyped_storage())

        return results, replay


def doubled(args: list[Any]) -> tuple[Any, ...]:
    x, weight = args
    args.clear()
    return (x * weight,)


def test_the_second_call_records_and_moving_inputs_are_copied() -> None:
    recorder, weight = Recorder(), torch.tensor(3.0)
    call = GraphedCall(doubled, record=recorder)
    for number in range(6):
        x = torch.full((4,), float(number))
        keep = torch.empty(number + 1)  # so that x lies elsewhere each time
        (result,) = call([x, weight])
        assert result.tolist() == [3.0 * number] * 4
        del result, keep
    assert recorder.recorded <= 2 and recorder.replayed == 5


def test_a_held_result_never_changes() -> None:
    recorder, weight = Recorder(), torch.tensor(2.0)
    call = GraphedCall(doubled, record=recorder)
    held = [call([torch.full((4,), float(n)), weight])[0][1:] for n in range(8)]
    for number, view in enumerate(held):
        assert view.tolist() == [2.0 * number] * 3
    assert recorder.recorded == MOST
    held.clear()
    assert call([torch.ones(4), weight])[0].tolist() == [2.0] * 4
    assert recorder.recorded == MOST and recorder.replayed == MOST + 1


def test_a_static_input_that_moves_is_recorded_anew() -> None:
    recorder, x = Recorder(), torch.ones(2)
    call = GraphedCall(doubled, record=recorder)
    weights = [torch.tensor(float(n)) for n in range(3)]
    for weight in (weights[0], weights[0], weights[1], weights[2]):
        assert call([x, weight])[0].tolist() == [weight.item()] * 2
    assert recorder.recorded == 2


def test_what_is_written_reaches_an_input_that_was_copied() -> None:
    def add_one(args: list[Any]) -> tuple[Any, ...]:
        args[0].add_(1)
        args.clear()
        return ()

    recorder = Recorder()
    call = GraphedCall(add_one, written=[0], record=recorder)
    states = [torch.full((3,), 10.0 * number) for number in range(4)]
    for number, state in enumerate(states):
        call([state])
        assert state.tolist() == [10.0 * number + 1] * 3
    assert recorder.recorded == 1 and recorder.replayed == 3


def test_shapes_have_recordings_of_their_own() -> None:
    recorder, weight = Recorder(), torch.tensor(2.0)
    call = GraphedCall(doubled, record=recorder)
    for size in (2, 3, 2, 3, 2, 3):
        assert call([torch.ones(size), weight])[0].tolist() == [2.0] * size
    assert recorder.recorded == 2


def test_work_that_cannot_be_recorded_runs_as_before() -> None:
    def refuse(work: Callable[[], Any]) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing")

    call = GraphedCall(doubled, record=refuse)
    for _ in range(3):
        assert call([torch.ones(2), torch.tensor(5.0)])[0].tolist() == [5.0] * 2
    assert "not permitted" in call.reason


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_graphs_replay() -> None:
    weight = torch.tensor(3.0, device="cuda")
    call = GraphedCall(doubled)
    for number in range(5):
        x = torch.full((4,), float(number), device="cuda")
        assert call([x, weight])[0].tolist() == [3.0 * number] * 4
    assert not call.reason
