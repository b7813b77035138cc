import gzip
import math
import struct
from importlib import util
from pathlib import Path

import pytest
import torch
from torch import Tensor

from manifolds.errors import DataError
from manifolds.tasks import digits, mnist
from manifolds.tasks.images import existing, permutation, read_idx


def write_idx(path: Path, values: Tensor, zipped: bool = False) -> None:
    head = struct.pack(">HBB", 0, 8, values.dim())
    head += struct.pack(f">{values.dim()}I", *values.shape)
    data = head + bytes(values.flatten().tolist())
    if zipped:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(data))
    else:
        path.write_bytes(data)


@pytest.fixture
def mnist_dir(tmp_path: Path) -> Path:
    for part, images in (("train", 6), ("t10k", 3)):
        pixels = torch.randint(256, (images, 28, 28))
        write_idx(tmp_path / f"{part}-images-idx3-ubyte", pixels, part == "train")
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte", torch.arange(images))
    return tmp_path


@pytest.fixture
def digits_dir(tmp_path: Path) -> Path:
    rows = [[(i * j) % 17 for j in range(64)] + [i % 10] for i in range(20)]
    text = "\n".join(",".join(map(str, row)) for row in rows)
    (tmp_path / "digits.csv.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


def test_mnist_is_read_pixel_by_pixel(mnist_dir: Path) -> None:
    task = mnist(mnist_dir)
    batch = task.draw(5, torch.Generator().manual_seed(0))
    assert batch.inputs.shape == (784, 5, 1)
    assert ((batch.inputs >= 0) & (batch.inputs <= 1)).all()
    whole = task.examine()
    assert whole is not None
    assert whole.targets.tolist() == [0, 1, 2]
    assert (task.input_size, task.output_size, task.every_step) == (1, 10, False)
    assert task.baseline == math.log(10)


def test_permuted_pixels_are_the_same_pixels(mnist_dir: Path) -> None:
    plain, mixed = mnist(mnist_dir).examine(), mnist(mnist_dir, True).examine()
    assert plain is not None
    assert mixed is not None
    assert torch.equal(plain.inputs[permutation(784)], mixed.inputs)
    assert sorted(permutation(784).tolist()) == list(range(784))


def test_digits_are_read_from_a_folder(digits_dir: Path) -> None:
    task = digits(digits_dir)
    whole = task.examine()
    assert whole is not None
    assert whole.inputs.shape == (64, 4, 1)
    outputs = torch.nn.functional.one_hot(whole.targets, 10).float() * 100
    assert task.accuracy(outputs, whole) == 1.0
    assert float(task.loss(outputs, whole)) < 1e-6
    assert digits(digits_dir, permuted=True).order is not None


def test_digits_of_scikit_learn() -> None:
    if util.find_spec("sklearn") is None:
        with pytest.raises(DataError, match="scikit-learn"):
            digits()
    else:
        assert len(digits().train[1]) + len(digits().test[1]) == 1797


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--data-dir"):
        mnist(None)
    with pytest.raises(DataError, match="train-images"):
        mnist(tmp_path)
    with pytest.raises(DataError, match="digits"):
        digits(tmp_path)
    with pytest.raises(DataError):
        existing(tmp_path)
    (tmp_path / "short").write_bytes(struct.pack(">HBBI", 0, 8, 1, 5) + b"abc")
    with pytest.raises(DataError, match="3 bytes"):
        read_idx(tmp_path / "short")


@pytest.mark.parametrize("content", [b"", b"hi", b"\0\0\x08\x03\0\0"])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_files_that_are_cut_short_are_named(
    tmp_path: Path, content: bytes, ending: str
) -> None:
    (tmp_path / f"numbers{ending}").write_bytes(content)
    with pytest.raises(DataError, match="numbers is cut short"):
        read_idx(tmp_path / "numbers")


@pytest.mark.parametrize(
    "content", [b"hi", gzip.compress(b"hi\n", mtime=0), b"\x1f\x8b"]
)
def test_digits_of_another_format_are_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "digits.csv.gz").write_bytes(content)
    with pytest.raises(DataError, match=r"digits\.csv\.gz is cut short"):
        digits(tmp_path)
