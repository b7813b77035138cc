import json
from pathlib import Path
from typing import Any

import pytest

from proofs import catalogue, report

COQ: dict[str, Any] = {
    "name": "swizzle_is_linear",
    "verdict": "proved",
    "method": "Coq",
    "statement": "s (x ^ y) = s x ^ s y",
    "scope": "all dimensions",
    "source": "proofs/coq/swizzle.v, line 3",
    "seconds": 0.5,
}
PARAMETRIC = COQ | {
    "name": "mfma_operand_a_is_its_index_formula",
    "method": "z3 and bitwuzla",
    "scope": "a box; 1,000 parameter sets",
    "facts": {
        "instances": 1000,
        "z3_seconds": 0.25,
        "bitwuzla_seconds": 0.5,
        "certificate": "checked, 7 lemmas",
    },
}
INSTANCE = COQ | {"method": "z3", "name": "slice_layout", "scope": "40 encodings"}
SWIZZLE = INSTANCE | {"method": "certificate of the swizzle", "name": "swizzle_is_best"}


def test_one_line_a_family() -> None:
    twice = [PARAMETRIC, PARAMETRIC | {"name": "mfma_result", "facts": {}}]
    lines = report.summary([COQ, *twice, INSTANCE, SWIZZLE]).splitlines()
    assert lines[2:] == [
        f"| {report.MECHANISED} | 1 | all dimensions | Coq, no axioms | 0.5 s |",
        "| AMD MFMA: results, operands | 2 | up to 1,000 parameter sets, all positions "
        "| z3 and bitwuzla; 1 certificates re-checked | 1.0 s |",
        "| recorded encodings equal Triton's own layouts and formulas | 1 | "
        "40 encodings | z3 | 0.5 s |",
        "| swizzles of real conversions are optimal | 1 | 40 encodings | "
        "certificate of the swizzle | 0.5 s |",
    ]
    other = INSTANCE | {"scope": "2 encodings"}
    assert report.bounds([INSTANCE, other]) == "instances, all positions of each"
    unnamed = PARAMETRIC | {"name": "sums_are_xors"}
    assert report.family(unnamed) == report.OTHER_FAMILY


@pytest.mark.parametrize("verdict", ["unknown", "refuted"])
def test_what_is_not_proved_is_not_claimed(verdict: str) -> None:
    with pytest.raises(ValueError, match=f"swizzle_is_linear is {verdict}, not proved"):
        report.summary([COQ | {"verdict": verdict}])


def test_the_page_has_every_statement() -> None:
    page = report.page([COQ, PARAMETRIC, PARAMETRIC], "two cores")
    assert page.count("## AMD MFMA") == 1
    assert "**swizzle_is_linear**: s (x ^ y) = s x ^ s y" in page
    assert "z3 0.25 s, bitwuzla 0.50 s, certificate checked, 7 lemmas" in page


def test_only_the_marked_part_is_replaced() -> None:
    text = f"before {report.START} old {report.END} after"
    new = report.replaced(text, "| new |")
    assert new.startswith("before ") and new.endswith(" after") and "old" not in new
    assert report.replaced(new, "| new |") == new
    with pytest.raises(ValueError, match="needs the markers"):
        report.replaced("nothing here", "x")


def test_readme_and_docs_show_the_catalogue_of_today(repository: Path) -> None:
    result = repository / "benchmarks" / "results" / "catalogue.json"
    records = json.loads(result.read_text())["theorems"]
    assert [record["name"] for record in records] == [t.name for t in catalogue()]
    assert report.summary(records) in (repository / "README.md").read_text()
    page = (repository / "docs" / "catalogue.md").read_text()
    assert all(record["name"] in page for record in records)
