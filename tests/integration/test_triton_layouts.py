"""What an installed Triton prints and infers, asked live in a child process."""

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from algebra.encodings import Encoding, Linear, PaddedShared
from algebra.propagate import (
    fp4_to_fp,
    infer_expand_dims,
    infer_fp4_to_fp,
    infer_join,
    infer_reshape,
    infer_split,
    infer_trans,
)
from algebra.ttgir import parse_encoding, print_encoding

pytest.importorskip("triton", reason="Triton is not installed")

CHILD = Path(__file__).with_name("triton_layouts.py")
SHAPE = re.compile(r"(?:tensor|!ttg\.memdesc)<((?:\d+x)+)")


@cache
def ask(question: str, seed: int, count: int) -> tuple[str, tuple[dict[str, Any], ...]]:
    """Return the release of the installed Triton and its answers."""
    command = [sys.executable, str(CHILD), question, str(seed), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    release, *answers = map(json.loads, done.stdout.splitlines())
    return release["release"], tuple(answers)


def attribute(kind: str) -> str:
    """Return the attribute within the text of a type."""
    text = kind[kind.index("#") :].removesuffix(">")
    return text.removesuffix(", #ttg.shared_memory, mutable")


def shape_of(kind: str) -> list[int]:
    """Return the shape within the text of a type."""
    found = SHAPE.match(kind)
    assert found is not None
    return [int(size) for size in found[1].split("x")[:-1]]


def check_attributes(seed: int, count: int) -> None:
    release, answers = ask("attributes", seed, count)
    assert len(answers) > 0.9 * count
    for answer in answers:
        text = attribute(answer["text"])
        encoding = parse_encoding(text)
        assert print_encoding(encoding, release) == text
        assert parse_encoding(repr(encoding)) == encoding
        if answer["bases"] is not None:
            layout = encoding.to_linear_layout(answer["shape"], release)
            bases = {
                name: [list(v) for v in part] for name, part in layout.bases.items()
            }
            assert bases == answer["bases"], text


def infer(answer: dict[str, Any], source: Encoding, release: str) -> Encoding:
    shape, argument = shape_of(answer["source"]), answer["argument"]
    match answer["operation"]:
        case "trans":
            return infer_trans(source, shape, argument, release)
        case "reshape":
            return infer_reshape(source, shape, argument, release)
        case "join":
            return infer_join(source, shape, release)
        case "split":
            return infer_split(source, shape, release)
        case "expand_dims":
            return infer_expand_dims(source, argument)
        case _:
            return infer_fp4_to_fp(source, shape, argument, release)


def check_propagation(seed: int, count: int) -> None:
    release, answers = ask("propagation", seed, count)
    assert len(answers) == count
    for answer in answers:
        source = parse_encoding(attribute(answer["source"]))
        triton = parse_encoding(attribute(answer["result"]))
        ours = infer(answer, source, release)
        if answer["operation"] == "fp4_to_fp":
            check_fp4(answer, source, triton, ours, release)
            continue
        assert ours == triton, answer
        if not isinstance(ours, PaddedShared):
            ours.to_linear_layout(shape_of(answer["result"]), release)


def check_fp4(
    answer: dict[str, Any],
    source: Encoding,
    triton: Encoding,
    ours: Encoding,
    release: str,
) -> None:
    """Check that we differ from Triton only where it breaks the law.

    Triton takes the linear layout of the source at the shape of the result, and has a
    symbolic result in some cases where that is another layout.
    """
    unpacked, axis = shape_of(answer["result"]), answer["argument"]
    packed = source.to_linear_layout(shape_of(answer["source"]), release)
    law = fp4_to_fp(packed, axis)
    assert ours.to_linear_layout(unpacked, release) == law
    if isinstance(triton, Linear):
        wide = fp4_to_fp(source.to_linear_layout(unpacked, release), axis)
        bases = (triton.register, triton.lane, triton.warp, triton.block)
        assert bases == tuple(wide.bases.values()), answer
    elif triton != ours:
        assert triton.to_linear_layout(unpacked, release) != law, answer


def test_attributes() -> None:
    check_attributes(seed=1, count=400)


def test_propagation() -> None:
    check_propagation(seed=1, count=400)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 7))
def test_many_attributes(seed: int) -> None:
    check_attributes(seed, count=2000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 7))
def test_many_propagations(seed: int) -> None:
    check_propagation(seed, count=1000)
