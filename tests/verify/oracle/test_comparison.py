import os
from pathlib import Path
from random import Random

import pytest

from verify.oracle import (
    Wheel,
    compare_encodings,
    compare_operations,
    exposed_kinds,
    random_cases,
    random_operation,
)
from verify.oracle.comparison import (
    ABORTED,
    BOTH_REJECT,
    NOT_EXPOSED,
    RAISED,
    Comparison,
    is_surjective,
    release_of,
)
from verify.oracle.random_encodings import Case

OTHERS = Path(__file__).parents[3] / ".oracle"
CASES = int(os.environ.get("ORACLE_CASES", "20000"))


def check(judge: Wheel, seed: int, cases: int) -> tuple[Comparison, Comparison]:
    kinds, hidden = exposed_kinds(judge)
    assert "blocked" in kinds and "amd_rotating_shared" in hidden
    encodings = compare_encodings(judge, random_cases(seed, cases, kinds))
    assert encodings.different == []
    assert encodings.cases == cases
    rng = Random(seed)
    operations = compare_operations(
        judge, [random_operation(rng) for _ in range(cases)]
    )
    assert operations.different == []
    assert operations.cases == cases
    return encodings, operations


def test_three_hundred_encodings_and_operations(wheel: Wheel) -> None:
    encodings, operations = check(wheel, 20261129, 300)
    assert sum(encodings.equal.values()) > 280
    assert sum(operations.equal.values()) > 290
    for _, reason in encodings.apart:
        assert reason in (RAISED, ABORTED, BOTH_REJECT)


@pytest.mark.slow
def test_twenty_thousand_encodings_and_operations(wheel: Wheel) -> None:
    check(wheel, 1, CASES)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.8.0", "3.9.0"])
def test_other_releases(version: str) -> None:
    folder = OTHERS / version
    if not folder.exists():
        pytest.skip(f"needs pip install --target {folder} triton=={version}")
    with Wheel(folder) as judge:
        assert judge.version == version
        check(judge, 2, CASES)


def test_a_wrong_layout_is_a_difference(
    wheel: Wheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from algebra.encodings import Blocked

    honest = Blocked.to_linear_layout

    def swapped(self, shape, release="3.9", alloc_shape=None, element_bits=None):  # type: ignore[no-untyped-def]
        layout = honest(self, shape, release)
        bases = dict(layout.bases)
        bases["lane"] = tuple(reversed(bases["lane"]))
        return type(layout).from_bases(bases, layout.out_dims)

    monkeypatch.setattr(Blocked, "to_linear_layout", swapped)
    result = compare_encodings(wheel, random_cases(1, 40, ["blocked"]))
    assert len(result.different) > 20
    kind, _, mine, theirs = result.different[0]
    assert kind == "blocked" and mine["lane"] == theirs["lane"][::-1]


def test_what_cannot_be_compared_is_counted_and_listed(wheel: Wheel) -> None:
    flat = {
        "kind": "swizzled_shared",
        "vec": 1,
        "per_phase": 1,
        "max_phase": 1,
        "order": [1, 0],
    }
    rotating = {**flat, "kind": "amd_rotating_shared"}
    result = compare_encodings(wheel, [Case(flat, (1, 1)), Case(rotating, (2, 2))])
    assert result.apart == {
        ("swizzled_shared", RAISED): 1,
        ("amd_rotating_shared", NOT_EXPOSED): 1,
    }
    assert [kind for kind, *_ in result.listed] == [
        "swizzled_shared",
        "amd_rotating_shared",
    ]
    assert result.cases == 2


def test_surjectivity_and_releases() -> None:
    assert is_surjective({"lane": [[1, 0], [0, 1]]}, [2, 2])
    assert not is_surjective({"lane": [[1, 0], [1, 0]]}, [2, 2])
    assert is_surjective({}, [1])
    assert release_of("3.7.1") == "3.7"
