from algebra import LinearLayout
from compiler.convert import Select, Shuffle, plan
from compiler.convert.hardware import Hardware, moved
from compiler.convert.work import estimate, runs_within_warp, work
from verify.oracle.random_conversions import random_pairs

Pair = tuple[LinearLayout, LinearLayout, int]


def test_estimates_are_close() -> None:
    near = total = 0
    for pair in random_pairs(11, 200):
        found = plan(pair.src, pair.dst, pair.element_bits)
        exact = work(found.steps, found.element_bits)
        guess = estimate(found.steps, found.element_bits)
        for kind in set(exact) | set(guess):
            if kind not in ("selp", "prmt", "alu"):
                assert exact[kind] == guess[kind], kind
        selections = exact["selp"] + exact["prmt"]
        total += 1
        near += selections <= 1.5 * (guess["selp"] + guess["prmt"]) + 4
    assert near > 0.9 * total


def test_counts_of_memory(pairs: dict[str, Pair]) -> None:
    counts = plan(*pairs["matrices"]).counts
    assert counts["bar.sync"] == 1
    assert counts["wavefronts"] == 32


def test_runs_are_maximal(pairs: dict[str, Pair]) -> None:
    steps = plan(*pairs["fp8 P to A"]).steps
    assert [len(run) for run in runs_within_warp(steps)] == [3]
    assert runs_within_warp(plan(*pairs["matrices"]).steps) == []


def test_words_that_are_not_there_yet_are_made_in_any_order() -> None:
    two = Hardware(2, 1, 0, 0)
    swapped = Select(moved(two, two, [2, 1, 4]))
    shuffled = Shuffle(moved(two, two, [1, 2 | 4, 4]), 1)
    steps = (swapped, shuffled)
    assert estimate(steps, 16)["prmt"] == 2
    assert estimate(steps, 16, packed=False)["prmt"] == 0
