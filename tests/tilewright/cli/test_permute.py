import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright.cli.permute import load, save

Command = Callable[..., Any]


def call(command: Command, folder: Path, array: Any, *words: str) -> Any:
    """Permute an array through files."""
    np.save(folder / "in.npy", array)
    answer = command("permute", folder / "in.npy", "-o", folder / "out.npy", *words)
    assert answer.code == 0, answer
    return np.load(folder / "out.npy")


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "f2", "<u4", ">u4", "f8", "c16", "M8[s]", "S4", "i2,f2"]
)
def test_every_type_of_a_good_width(
    command: Command, tmp_path: Path, dtype: str
) -> None:
    array = np.arange(16).astype("u1").view("u1").repeat(16)[:64].astype("u1")
    array = np.frombuffer(array.tobytes() * 16, dtype=dtype)[:32].reshape(2, 4, 4)
    result = call(command, tmp_path, array, "--map", "transpose(4, 4)")
    assert result.dtype == array.dtype
    assert result.tobytes() == array.transpose(0, 2, 1).tobytes()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--map", "2,4,8,1"], [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]),
        (["--layout", "reversal"], list(range(15, -1, -1))),
        (
            ["--map", "2,4,8,1", "--inverse"],
            [0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15],
        ),
    ],
)
def test_the_law(
    command: Command, tmp_path: Path, words: list[str], expected: list[int]
) -> None:
    assert call(command, tmp_path, np.arange(16), *words).tolist() == expected


def test_shapes_and_orders(command: Command, tmp_path: Path) -> None:
    array = np.asfortranarray(np.arange(32).reshape(4, 8))
    words = ("--map", "transpose", "--out-shape", "8x4")
    assert np.array_equal(call(command, tmp_path, array, *words), array.T)


def test_an_encoding_orders_by_hardware(command: Command, tmp_path: Path) -> None:
    """Element (lane, register) of the input goes to its row and column."""
    blocked = (
        "Blocked(size_per_thread=(2, 1), threads_per_warp=(1, 2), "
        "warps_per_cta=(1, 1), order=(1, 0))"
    )
    array = np.array([[10, 11], [20, 21]])
    result = call(command, tmp_path, array, "--map", blocked)
    assert result.tolist() == [[10, 20], [11, 21]]
    flat = call(command, tmp_path, array.ravel(), "--map", blocked, "--shape", "2x2")
    assert flat.tolist() == [10, 20, 11, 21]


def test_no_dimension_and_one_element(command: Command, tmp_path: Path) -> None:
    result = call(command, tmp_path, np.float32(7), "--map", "{'index': []}")
    assert result.shape == ()
    assert result == 7


def test_json_and_output_over_the_input(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.arange(4, dtype="i2"))
    answer = command("permute", path, "--map", "2,1", "-o", path, "--json")
    facts = {"output": str(path), "shape": [4], "dtype": "int16"}
    assert json.loads(answer.out) == facts
    assert np.load(path).tolist() == [0, 2, 1, 3]


def test_a_failure_keeps_the_output(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.arange(4))
    before = path.read_bytes()
    assert command("permute", path, "--map", "1,1", "-o", path).code == 2
    assert path.read_bytes() == before


def test_save_and_load(tmp_path: Path) -> None:
    array = np.arange(6, dtype=">i8").reshape(2, 3)
    save(tmp_path / "a.npy", array)
    assert np.array_equal(load(tmp_path / "a.npy"), array)


def test_from_and_to_a_pipe(repository: Path, tmp_path: Path) -> None:
    array = np.arange(8, dtype=np.int16)
    np.save(tmp_path / "in.npy", array)
    words = ["permute", "/dev/stdin", "--map", "reversal", "-o", "/dev/stdout"]
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", *words],
        cwd=repository,
        input=(tmp_path / "in.npy").read_bytes(),
        capture_output=True,
        check=True,
    )
    assert np.load(io.BytesIO(done.stdout)).tolist() == array[::-1].tolist()
    assert done.stdout.endswith(array[::-1].tobytes())
    assert done.stderr == b"wrote /dev/stdout: shape (8,), int16\n"
