"""Vector widths and replication, against enumeration of all hardware points."""

import json
import random
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import LinearLayout
from algebra.contiguity import (
    Vectorisation,
    broadcast_masks,
    contiguity,
    is_representative,
    largest_vectorisation,
    replication,
    vector_of,
    vector_width,
)
from algebra.errors import DimMismatchError, NotPowerOfTwoError, OutOfRangeError

GOLDEN = Path(__file__).parents[2].parent / "shared" / "golden"


def random_distributed(seed: int) -> LinearLayout:
    """Register, lane and warp bits at single tensor bits, at none, or mixed."""
    source = random.Random(seed)
    bits = source.randrange(1, 7)
    units = [1 << i for i in range(bits)]
    source.shuffle(units)
    if source.random() < 0.5:
        units.sort(key=lambda unit: unit >= 1 << source.randrange(1, bits + 1))
    for _ in range(source.randrange(3)):
        units.insert(source.randrange(len(units)), 0)
    if source.random() < 0.3:
        units.append(source.randrange(1 << bits))
    registers = source.randrange(len(units) + 1)
    lanes = source.randrange(len(units) - registers + 1)
    cut = source.randrange(bits + 1)
    return LinearLayout.from_columns(
        {
            "register": registers,
            "lane": lanes,
            "warp": len(units) - registers - lanes,
        },
        {"dim0": cut, "dim1": bits - cut},
        units,
    )


def elements_of_threads(layout: LinearLayout, order: list[str]) -> list[list[int]]:
    """For each thread, the memory index of each register, by enumeration."""
    sizes = layout.in_dims
    threads = []
    for lane, warp in product(range(sizes["lane"]), range(sizes["warp"])):
        indices = []
        for register in range(sizes["register"]):
            at = layout.apply({"register": register, "lane": lane, "warp": warp})
            index, scale = 0, 1
            for dim in order:
                index += at[dim] * scale
                scale *= layout.out_dims[dim]
            indices.append(index)
        threads.append(indices)
    return threads


@given(st.integers(min_value=0), st.permutations(["dim0", "dim1"]))
def test_a_group_of_registers_holds_an_aligned_run_in_every_thread(
    seed: int, order: list[str]
) -> None:
    layout = random_distributed(seed)
    access = layout.transpose_outs(order).flatten_outs()
    group = largest_vectorisation(access, 8)
    assert group.elements == min(contiguity(layout, order), 16)
    others = [
        bit
        for bit in range(layout.get_in_dim_size_log2("register"))
        if bit not in group.registers
    ]
    for indices in elements_of_threads(layout, order):
        for choice in product((0, 1), repeat=len(others)):
            base = sum(on << bit for on, bit in zip(choice, others, strict=True))
            run = [
                indices[
                    base + sum((i >> k & 1) << b for k, b in enumerate(group.registers))
                ]
                for i in range(group.elements)
            ]
            start = run[0]
            assert start % group.elements == 0
            assert run == list(range(start, start + group.elements))


@given(st.integers(min_value=0))
def test_one_representative_for_each_element(seed: int) -> None:
    layout = random_distributed(seed)
    names = layout.get_in_dim_names()
    points = [
        dict(zip(names, values, strict=True))
        for values in product(*(range(size) for size in layout.in_dims.values()))
    ]
    held = Counter(tuple(layout.apply(point).values()) for point in points)
    assert set(held.values()) == {replication(layout)}
    chosen = Counter(
        tuple(layout.apply(point).values())
        for point in points
        if is_representative(layout, point)
    )
    assert set(chosen) == set(held)
    assert set(chosen.values()) == {1}


@given(st.integers(min_value=0))
def test_a_longer_order_is_never_less_contiguous(seed: int) -> None:
    layout = random_distributed(seed)
    assert contiguity(layout, []) == 1
    assert contiguity(layout, ["dim1"]) <= contiguity(layout, ["dim1", "dim0"])


@given(st.integers(min_value=0), st.integers(min_value=1, max_value=64))
def test_width_is_the_least_of_three_limits(seed: int, alignment: int) -> None:
    layout = random_distributed(seed)
    width = vector_width(layout, ["dim0", "dim1"], 32, alignment=alignment)
    assert width == min(contiguity(layout, ["dim0", "dim1"]), 4, alignment & -alignment)


def test_narrow_columns_limit_the_run_unless_rows_are_dense() -> None:
    layout = LinearLayout.from_bases(
        {"register": [[0, 1], [0, 2], [1, 0]], "lane": [[2, 0]]}, ["dim0", "dim1"]
    )
    assert contiguity(layout, ["dim1"]) == 4
    assert contiguity(layout, ["dim1", "dim0"]) == 8
    assert contiguity(layout, ["dim0"]) == 2
    assert vector_width(layout, ["dim1", "dim0"], 8, max_bits=32) == 4
    assert vector_width(layout, ["dim1", "dim0"], 128) == 1


def test_elements_wider_than_the_access_move_one_by_one() -> None:
    access = LinearLayout.identity_1d(4, "register", "offset")
    assert largest_vectorisation(access, 256) == Vectorisation(())
    assert vector_of(access, 1) == Vectorisation(())
    assert vector_of(LinearLayout.zeros_1d(4, "register", "offset"), 2) is None


def test_bad_arguments_name_what_was_needed() -> None:
    layout = LinearLayout.identity_1d(4, "register", "dim0")
    with pytest.raises(DimMismatchError, match="in-dim 'register'"):
        largest_vectorisation(LinearLayout.identity_1d(4, "lane", "dim0"), 8)
    with pytest.raises(DimMismatchError, match="in-dim 'register'"):
        largest_vectorisation(LinearLayout.empty(), 8)
    with pytest.raises(NotPowerOfTwoError):
        largest_vectorisation(layout, 24)
    for order in (["dim1"], ["dim0", "dim0"]):
        with pytest.raises(DimMismatchError, match="once each"):
            contiguity(layout, order)
    with pytest.raises(OutOfRangeError, match="alignment=0"):
        vector_width(layout, ["dim0"], 8, alignment=0)
    with pytest.raises(DimMismatchError, match="a point needs"):
        is_representative(layout, {"lane": 0})


def test_degenerate_layouts() -> None:
    assert broadcast_masks(LinearLayout.empty()) == {}
    assert replication(LinearLayout.empty()) == 1
    assert is_representative(LinearLayout.empty(), {})
    one = LinearLayout.identity_1d(1, "register", "dim0")
    assert contiguity(one, ["dim0"]) == 1


@pytest.mark.skipif(not GOLDEN.exists(), reason="the golden files are not here")
def test_golden_free_variable_masks() -> None:
    cases = [
        case
        for name in ("algebra.json", "derived_algebra.json")
        for case in json.loads((GOLDEN / name).read_text())["cases"]
        if case["op"] == "get_free_variable_masks"
    ]
    assert len(cases) == 64
    for case in cases:
        form = case["inputs"][0]
        layout = LinearLayout.from_bases(
            {dim: form["in_dims"][dim] for dim in form["in_order"]},
            dict(form["out_dims"]),
            require_surjective=False,
        )
        assert broadcast_masks(layout) == dict(case["expected"]), case["case"]
