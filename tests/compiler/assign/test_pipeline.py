"""Schedules of copies: in order for any number of rounds, and each fault refuted."""

from dataclasses import replace

import pytest

from algebra.verdict import Proved, Refuted
from compiler.assign.pipeline import (
    Barrier,
    Commit,
    Compute,
    Copy,
    Pipeline,
    Wait,
    pipeline,
)

THREE = pipeline(3)


@pytest.mark.parametrize("stages", range(1, 9))
def test_every_depth_is_proved(stages: int) -> None:
    assert isinstance(pipeline(stages).prove(), Proved)


FAULTS: dict[str, tuple[Pipeline, str]] = {
    "waits for too little": (
        replace(THREE, each=(Wait(2), *THREE.each[1:])),
        "not waited for",
    ),
    "no barrier": (
        replace(THREE, each=tuple(e for e in THREE.each if e != Barrier())),
        "without a barrier",
    ),
    "barrier before the wait": (
        replace(THREE, each=(Barrier(), Wait(1), *THREE.each[2:])),
        "without a barrier",
    ),
    "too few slots": (replace(THREE, stages=2), "reads the tile of round 2"),
    "copies before the barrier": (
        replace(THREE, each=(Copy(2), Commit(), Wait(2), Barrier(), Compute())),
        "overwrites",
    ),
    "too little before the loop": (
        replace(THREE, before=THREE.before[:2]),
        "not waited for",
    ),
    "copies too far ahead": (
        replace(THREE, each=(Wait(1), Barrier(), Copy(3), Commit(), Compute())),
        "reads the tile of round",
    ),
    "no groups": (
        replace(THREE, each=(Wait(1), Barrier(), Copy(2), Compute())),
        "not waited for",
    ),
    "never reads": (Pipeline(1, (), (Commit(),)), "reads its tiles once"),
    "never waits": (
        replace(THREE, each=(Barrier(), Copy(2), Commit(), Compute())),
        "not waited for",
    ),
    "overwrites what is read": (
        Pipeline(1, (), (Copy(0), Commit(), Wait(0), Barrier(), Compute())),
        "overwrites",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_refuted(name: str) -> None:
    schedule, rule = FAULTS[name]
    verdict = schedule.prove()
    assert isinstance(verdict, Refuted)
    assert rule in str(verdict.counterexample)


def test_rounds_that_do_not_exist_are_not_copied() -> None:
    """With fewer rounds than slots, nothing is read that was not copied."""
    assert isinstance(pipeline(8).prove(), Proved)
    assert len(pipeline(8).before) == 14
