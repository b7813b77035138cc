import json
from random import Random

import pytest

from algebra.inversion import aligned_columns
from algebra.layout import LinearLayout
from verify.oracle.random_operations import (
    OPERATIONS,
    choice_of_3_9,
    choice_until_3_7,
    random_operation,
    to_layout,
)


@pytest.mark.parametrize("name", OPERATIONS)
def test_arguments_are_valid_and_plain(name: str) -> None:
    rng = Random(name)
    for _ in range(60):
        operation = random_operation(rng, name)
        assert json.loads(json.dumps(operation.arguments)) == list(operation.arguments)
        answer = operation.run()
        assert json.loads(json.dumps(answer)) == answer


def test_all_operations_are_drawn() -> None:
    rng = Random(0)
    assert {random_operation(rng).name for _ in range(1000)} == set(OPERATIONS)


def test_the_choice_of_3_9_solves_the_same_equation() -> None:
    rng = Random(5)
    differs = 0
    for _ in range(3000):
        inner, outer = map(
            to_layout, random_operation(rng, "invert_and_compose").arguments
        )
        chosen = choice_of_3_9(inner, outer)
        ours = inner.invert_and_compose(outer)
        differs += chosen != ours
        wanted = aligned_columns(inner, outer.out_names, outer.out_bits)
        assert list(chosen.compose(outer).columns) == wanted
    assert differs > 0


def test_a_common_dim_that_nothing_touches_stays() -> None:
    both = LinearLayout.from_bases(
        {"register": [[0]], "lane": [[1]], "warp": [[0]]}, {"dim0": 2}
    )
    chosen = choice_of_3_9(both, both)
    assert chosen.bases["register"] == ((1, 0, 0),)
    assert chosen.bases["warp"] == ((0, 0, 1),)


@pytest.mark.parametrize("release", ["3.6", "3.7", "3.8", "3.9"])
def test_every_release_chooses_a_preimage(release: str) -> None:
    rng = Random(release)
    for _ in range(300):
        operation = random_operation(rng, "invert_and_compose")
        inner, outer = map(to_layout, operation.arguments)
        found = operation.run(release)
        chosen = LinearLayout.from_bases(
            dict(found["bases"]), dict(found["out_dims"]), require_surjective=False
        )
        wanted = aligned_columns(inner, outer.out_names, outer.out_bits)
        assert list(chosen.compose(outer).columns) == wanted


def test_until_3_7_no_in_dim_is_common_to_layouts_of_different_sizes() -> None:
    inner, wide = (
        LinearLayout.from_bases(
            {"offset": [[1 << bit] for bit in range(bits)], "block": [[0]]},
            {"dim0": 1 << bits},
        )
        for bits in (2, 3)
    )
    assert inner.invert_and_compose(wide).bases["block"] == ((0, 1),)
    assert choice_until_3_7(inner, wide).bases["block"] == ((0, 0),)
    assert choice_until_3_7(inner, inner).bases["block"] == ((0, 1),)
