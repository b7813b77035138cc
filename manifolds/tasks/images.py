"""Images read pixel by pixel: MNIST and scikit-learn's digits, plain or permuted."""

import gzip
import math
import struct
import zlib
from dataclasses import dataclass, field
from importlib import util
from pathlib import Path

import torch
from torch import Tensor

from manifolds.errors import DataError

from .task import Batch, cross_entropy, right_answers

PERMUTATION_SEED = 92916


@dataclass(frozen=True, eq=False, slots=True)
class Images:
    """Labelled images as sequences of pixels in [0, 1].

    Args:
        train: Pixels [images, steps] and labels [images].
        test: Likewise.
        order: In which pixels are read [steps]; None is row by row.
        classes: Number of labels.

    Example:
        >>> pair = torch.rand(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
        >>> task = Images(pair, pair, torch.tensor([3, 2, 1, 0]))
        >>> task.draw(5, torch.Generator()).inputs.shape
        torch.Size([4, 5, 1])

    Source: Q. Le, N. Jaitly, G. Hinton 2015.
    """

    train: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]
    order: Tensor | None = None
    classes: int = field(default=10)

    @property
    def input_size(self) -> int:
        """One pixel."""
        return 1

    @property
    def output_size(self) -> int:
        """A logit for each label."""
        return self.classes

    @property
    def every_step(self) -> bool:
        """One target at the end."""
        return False

    @property
    def baseline(self) -> float:
        """The entropy of a uniform guess."""
        return math.log(self.classes)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Return random training images."""
        pixels, labels = self.train
        chosen = torch.randint(len(labels), (size,), generator=generator)
        return self._batch(pixels[chosen], labels[chosen])

    def examine(self) -> Batch | None:
        """Return all test images."""
        return self._batch(*self.test)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the cross-entropy."""
        return cross_entropy(outputs, batch.targets)

    def accuracy(self, outputs: Tensor, batch: Batch) -> float | None:
        """Return the part of right labels."""
        return right_answers(outputs, batch.targets)

    def _batch(self, pixels: Tensor, labels: Tensor) -> Batch:
        if self.order is not None:
            pixels = pixels[:, self.order]
        return Batch(pixels.T.unsqueeze(-1), labels)


def digits(data_dir: Path | None = None, permuted: bool = False) -> Images:
    """Return the 1797 images of 8 x 8 that come with scikit-learn.

    Every fifth image is for testing.

    Args:
        data_dir: Folder with ``digits.csv.gz``; that of scikit-learn if None.
        permuted: Whether pixels are read in one random order.

    Returns:
        The task, 64 steps.

    Raises:
        DataError: The file is not there, or of another format.

    Source: E. Alpaydin, C. Kaynak, Optical recognition of handwritten digits, 1998.
    """
    if data_dir is None:
        found = util.find_spec("sklearn")
        if found is None or found.origin is None:
            raise DataError(
                "scikit-learn, whose digits are read, is needed but not installed; "
                "install it, or name a folder with digits.csv.gz by --data-dir",
                data_dir=None,
            )
        data_dir = Path(found.origin).parent / "datasets" / "data"
    path = existing(data_dir / "digits.csv.gz")
    try:
        with gzip.open(path, "rt") as lines:
            rows = [[float(cell) for cell in line.split(",")] for line in lines]
        table = torch.tensor(rows).view(len(rows), 65)
    except (gzip.BadGzipFile, zlib.error, EOFError, ValueError, RuntimeError) as error:
        raise DataError(
            f"lines of 64 pixels and a label were needed, but {path} is cut short or "
            f"of another format ({error})",
            path=path,
        ) from error
    pixels, labels = table[:, :-1] / 16, table[:, -1].long()
    tested = torch.arange(len(labels)) % 5 == 0
    return Images(
        (pixels[~tested], labels[~tested]),
        (pixels[tested], labels[tested]),
        permutation(pixels.shape[1]) if permuted else None,
    )


def mnist(data_dir: Path | None, permuted: bool = False) -> Images:
    """Return MNIST from its four files, plain or gzipped.

    Args:
        data_dir: Folder with ``train-images-idx3-ubyte`` and the other three.
        permuted: Whether pixels are read in one random order.

    Returns:
        The task, 784 steps.

    Raises:
        DataError: No folder is given, a file is not there, or is of another format.

    Source: Y. LeCun, C. Cortes, C. Burges, the IDX format.
    """
    if data_dir is None:
        raise DataError(
            "MNIST cannot be made here: name the folder of its four files by "
            "--data-dir",
            data_dir=None,
        )
    train, test = (
        (
            read_idx(data_dir / f"{part}-images-idx3-ubyte").flatten(1) / 255,
            read_idx(data_dir / f"{part}-labels-idx1-ubyte").long(),
        )
        for part in ("train", "t10k")
    )
    return Images(train, test, permutation(784) if permuted else None)


def permutation(size: int) -> Tensor:
    """Return the fixed random order, NumPy's of seed 92916 as in the paper's code."""
    import numpy  # loaded only where it decides on the order

    order = numpy.random.RandomState(PERMUTATION_SEED).permutation(size)
    return torch.from_numpy(order)


def read_idx(path: Path) -> Tensor:
    """Read bytes in the IDX format, gzipped or not.

    Args:
        path: Without ``.gz``.

    Returns:
        uint8, as many dims as the file says.

    Raises:
        DataError: There is no such file, or it is of another format.
    """
    zipped = path.with_name(f"{path.name}.gz")
    try:
        if zipped.is_file():
            data = gzip.decompress(zipped.read_bytes())
        else:
            data = existing(path).read_bytes()
        zero, kind, dims = struct.unpack(">HBB", data[:4])
        shape = struct.unpack(f">{dims}I", data[4 : 4 + 4 * dims])
    except (gzip.BadGzipFile, zlib.error, EOFError, struct.error) as error:
        raise DataError(
            f"an IDX file of bytes was needed, but {path} is cut short or of another "
            f"format ({error})",
            path=path,
        ) from error
    body = data[4 + 4 * dims :]
    if zero or kind != 8 or len(body) != math.prod(shape):
        raise DataError(
            f"an IDX file of bytes was needed, but {path} has kind={kind}, "
            f"shape={shape}, {len(body)} bytes",
            path=path,
        )
    return torch.frombuffer(bytearray(body), dtype=torch.uint8).view(shape)


def existing(path: Path) -> Path:
    """Return the path of a file that is there.

    Raises:
        DataError: It is not.
    """
    if not path.is_file():
        raise DataError(f"a file was needed, but path={path} is none", path=path)
    return path
