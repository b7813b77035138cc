from algebra import LinearLayout
from compiler.convert import plan
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
