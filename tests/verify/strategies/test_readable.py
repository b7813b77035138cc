"""What is drawn survives JSON."""

import json
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from verify.strategies import (
    affine_layouts,
    conversions,
    encodings,
    kernels,
    layouts,
)
from verify.strategies.programs import Program
from verify.strategies.readable import from_json, to_json
from verify.strategies.tensors import TensorSpec


@settings(max_examples=15, deadline=None)
@given(st.one_of(layouts(), affine_layouts(), conversions(), encodings(["blocked"])))
def test_layouts_and_encodings_survive_json(value: Any) -> None:
    assert from_json(json.loads(json.dumps(to_json(value)))) == value


@settings(max_examples=5, deadline=None)
@given(kernels())
def test_kernels_survive_json(value: Any) -> None:
    assert from_json(json.loads(json.dumps(to_json(value)))) == value


def test_tensors_programs_and_plain_data_survive_json() -> None:
    spec = TensorSpec((2,), (3,), 1, torch.bfloat16)
    program = Program({"x0": spec}, ("v0 = x0 + 1",), ("v0",), ("add",))
    value = [spec, program, (1, "a", None), {"b": 2.5}]
    assert from_json(json.loads(json.dumps(to_json(value)))) == value


def test_what_is_not_readable_is_told() -> None:
    with pytest.raises(TypeError, match="got a object"):
        to_json(object())
    with pytest.raises(ValueError, match="type='strange'"):
        from_json({"type": "strange"})
