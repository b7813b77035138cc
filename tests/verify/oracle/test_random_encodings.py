import json
from random import Random

import pytest

from algebra.encodings import from_dict, to_dict
from algebra.errors import LayoutError
from verify.oracle.random_encodings import (
    KINDS,
    MAX_ELEMENTS,
    random_case,
    random_cases,
)


@pytest.mark.parametrize("kind", KINDS)
def test_cases_are_valid_by_construction(kind: str) -> None:
    rng = Random(kind)
    refused = 0
    for _ in range(100):
        case = random_case(rng, kind)
        assert case.kind.split(" of ")[0] == kind
        assert json.loads(json.dumps(case.encoding)) == case.encoding
        encoding = from_dict(case.encoding)
        assert from_dict(to_dict(encoding)) == encoding
        try:
            layout = encoding.to_linear_layout(case.shape, "3.9")
        except LayoutError:
            refused += 1
            continue
        if kind != "partitioned_shared":
            assert layout.get_total_out_dim_size() <= MAX_ELEMENTS << 4
    assert refused <= 10


def test_a_seed_decides_the_cases() -> None:
    assert random_cases(3, 50) == random_cases(3, 50)
    assert random_cases(3, 50) != random_cases(4, 50)
    assert {case.kind for case in random_cases(0, 30, ["blocked"])} == {"blocked"}


def test_clusters_and_slices_of_slices_occur() -> None:
    kinds = {case.kind for case in random_cases(1, 600, ["slice", "dot_operand"])}
    assert any(kind.startswith("slice of slice") for kind in kinds)
    cases = random_cases(2, 100, ["blocked"])
    assert any(case.encoding["cga"]["bases"] for case in cases)
