"""A decorator that draws what its parameters are named after."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from algebra import LinearLayout
from verify.given_layouts import BY_NAME, example_file, given_layouts, on_gpu


@given_layouts(max_examples=10)
def test_names_say_what_is_drawn(layout: Any, affine: Any, conversion: Any) -> None:
    assert isinstance(layout, LinearLayout)
    assert affine.linear.is_invertible
    assert conversion.src.linear.is_surjective and conversion.dst.linear.is_surjective


@given_layouts(max_examples=10, size=st.integers(1, 3))
def test_other_strategies_and_numbered_names(
    layout1: Any, layout2: Any, size: int
) -> None:
    assert 1 <= size <= 3
    assert isinstance(layout1, LinearLayout) and isinstance(layout2, LinearLayout)


@given_layouts(max_examples=10)
def test_fixtures_come_through(bijection: Any, tmp_path: Path) -> None:
    assert tmp_path.exists() and bijection.is_invertible


def test_every_name_draws_something() -> None:
    assert {"layout", "encoding", "kernel", "tensor", "program"} <= BY_NAME.keys()
    for make in BY_NAME.values():
        assert isinstance(make(), st.SearchStrategy)


def test_a_test_without_layouts_is_refused() -> None:
    with pytest.raises(TypeError, match="needs a parameter named layout"):
        given_layouts()(lambda other: None)
    with pytest.raises(TypeError, match="given was"):
        given_layouts(other=st.integers())(lambda layout: None)


def test_an_example_of_another_version_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_EXAMPLES", str(tmp_path))
    calls: list[Any] = []

    def property_of(layout: Any) -> None:
        calls.append(layout)

    place = example_file(property_of)
    assert place is not None
    place.write_text(json.dumps({"drawn": {"layout": {"type": "strange"}}}))
    given_layouts(max_examples=2)(property_of)()
    assert calls


def test_the_device_is_read_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TILEWRIGHT_DEVICE", "cuda:1")
    assert on_gpu()
    monkeypatch.delenv("TILEWRIGHT_DEVICE")
    assert not on_gpu()
