"""Results of replays: in memory of inputs, of the recording's own, or copied."""

from typing import Any

import torch

from compiler.runtime.graph_results import makers_of


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
