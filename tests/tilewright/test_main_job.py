import pytest
import torch

import tilewright.main_job as job
from algebra.verdict import Unknown, Verdict
from tilewright.main_job import Report, main_job, marlin_by_indexing, packed


@pytest.fixture(scope="module")
def report() -> Report:
    return main_job()


def test_every_step_is_good_and_in_time(report: Report) -> None:
    assert report.good, report.text()
    assert [step.name for step in report.steps] == list(job.STEPS)
    assert sum(step.seconds for step in report.steps) < 60
    assert report.text().splitlines()[-1].startswith("PASS: 5 steps")


def test_the_proofs_are_about_six_kinds(report: Report) -> None:
    proved = report.steps[0].facts["proved"]
    assert len(proved) == 6
    assert min(proved.values()) >= 40


def test_the_report_is_short(report: Report) -> None:
    lines = report.text().splitlines()
    assert len(lines) < 60
    assert max(map(len, lines)) < 100


def test_steps_are_told_as_they_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(job, "STEPS", {"one": lambda: (True, [], {})})
    main_job(told.append)
    assert told == ["one"]


def test_a_step_that_raises_is_wrong_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = {"bad": lambda: 1 / 0, "good": lambda: (True, ["fine"], {})}
    monkeypatch.setattr(job, "STEPS", steps)
    report = main_job()
    assert [step.good for step in report.steps] == [False, True]
    assert not report.good
    assert "1. bad [FAIL" in report.text()
    assert "ZeroDivisionError" in report.text()
    assert report.text().splitlines()[-1] == "FAIL: bad"


def test_a_wrong_permutation_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compiler.permute", lambda tensor, layout: tensor)
    monkeypatch.setattr(job, "WEIGHT", 64)
    for step in (job.permute_weight, job.permute_images):
        good, lines, _ = step()
        assert not good
        assert "NOT equal to PyTorch" in lines[0]


def test_an_unknown_is_not_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> Verdict:
        return Unknown("time-out")

    monkeypatch.setattr("verify.prove_encoding", unknown)
    good, lines, facts = job.prove_vectors()
    assert not good
    assert facts["wrong"] >= 240
    assert "nothing proved for blocked" in lines


def test_marlin_order_is_a_permutation_of_each_unit() -> None:
    weight = torch.arange(32 * 128).reshape(32, 128)
    moved = marlin_by_indexing(weight)
    assert moved.shape == weight.shape
    assert torch.equal(moved.flatten().sort().values, weight.flatten())
    first = moved.flatten()[:8].tolist()
    assert first == [0, 8 * 128, 8, 8 * 128 + 8, 128, 9 * 128, 128 + 8, 9 * 128 + 8]


def test_packing_puts_the_first_value_lowest() -> None:
    values = torch.tensor([1, 2, 3, 4, 5, 6, 7, 8], dtype=torch.uint8)
    assert packed(values).tolist() == [0x87654321]
