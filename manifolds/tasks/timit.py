"""Predict the next spectrum of speech, on TIMIT or any folder of WAV files.

The corpus is not free: it is read from ``--data-dir``, with its folders TRAIN and TEST.
"""

import math
import struct
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from manifolds.errors import DataError

from .task import Batch

BINS = 129
WINDOW = 256


@dataclass(frozen=True, eq=False, slots=True)
class Spectra:
    """Sequences of log-magnitudes; the target is the next one.

    Args:
        train: Sequences [frames, 129].
        test: Likewise.

    Example:
        >>> task = Spectra([torch.zeros(5, 129), torch.zeros(3, 129)], [])
        >>> task.draw(4, torch.Generator()).mask.shape[1]
        4

    Source: S. Wisdom et al., Full-capacity unitary recurrent neural networks, NIPS
    2016, section 5.3.
    """

    train: list[Tensor]
    test: list[Tensor]

    @property
    def input_size(self) -> int:
        """Log-magnitudes."""
        return BINS

    @property
    def output_size(self) -> int:
        """Log-magnitudes."""
        return BINS

    @property
    def every_step(self) -> bool:
        """A target at each step."""
        return True

    @property
    def baseline(self) -> float:
        """The error of the mean spectrum of the training set, summed over bins."""
        frames = torch.cat(self.train)
        return float((frames - frames.mean(0)).square().sum(-1).mean())

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Return random training sequences, padded."""
        chosen = torch.randint(len(self.train), (size,), generator=generator)
        return padded([self.train[i] for i in chosen.tolist()])

    def examine(self) -> Batch | None:
        """Return all test sequences."""
        return padded(self.test) if self.test else None

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the squared error, summed over bins and averaged over real steps."""
        assert batch.mask is not None
        errors = (outputs - batch.targets).square().sum(-1)
        return (errors * batch.mask).sum() / batch.mask.sum()

    def accuracy(self, outputs: Tensor, batch: Batch) -> float | None:
        """Nothing: it is a regression."""
        return None


def padded(sequences: list[Tensor]) -> Batch:
    """Return sequences of different lengths as one batch with a mask.

    Example:
        >>> padded([torch.zeros(3, 1), torch.zeros(2, 1)]).mask.sum().item()
        3.0
    """
    whole = pad_sequence(sequences)
    lengths = torch.tensor([len(s) for s in sequences]) - 1
    mask = torch.arange(len(whole) - 1)[:, None] < lengths
    return Batch(whole[:-1], whole[1:], mask.to(whole.dtype))


def timit(data_dir: Path | None) -> Spectra:
    """Return the task from folders TRAIN and TEST of WAV files, at any depth.

    Args:
        data_dir: The folder of both.

    Returns:
        The task.

    Raises:
        DataError: No folder is given, or one holds no file, or a file is of another
            format.
    """
    if data_dir is None:
        raise DataError(
            "TIMIT cannot be made here: name its folder, of TRAIN and TEST, by "
            "--data-dir",
            data_dir=None,
        )
    return Spectra(spectra_in(data_dir / "TRAIN"), spectra_in(data_dir / "TEST"))


def spectra_in(folder: Path) -> list[Tensor]:
    """Return the spectra of all WAV files of a folder, in order of their names.

    Raises:
        DataError: There is none.
    """
    paths = sorted(p for p in folder.rglob("*") if p.suffix.lower() == ".wav")
    if not paths:
        raise DataError(f"WAV files were needed, but {folder} has none", path=folder)
    return [spectrum(*read_wav(path)) for path in paths]


def spectrum(samples: Tensor, rate: int) -> Tensor:
    """Return log-magnitudes of windows of 256 samples at 8 kHz, half overlapping.

    Args:
        samples: In [-1, 1], at least 256 at 8 kHz [samples].
        rate: A multiple of 8000 [Hz].

    Returns:
        [frames, 129].

    Example:
        >>> spectrum(torch.zeros(1024), 8000).shape
        torch.Size([7, 129])
    """
    factor = max(rate // 8000, 1)
    usable = len(samples) // factor * factor
    slow = samples[:usable].view(-1, factor).mean(1)
    transformed = torch.stft(
        slow,
        WINDOW,
        WINDOW // 2,
        window=torch.hann_window(WINDOW),
        center=False,
        return_complex=True,
    )
    return (transformed.abs() + math.exp(-8)).log().T


def read_wav(path: Path) -> tuple[Tensor, int]:
    """Read 16-bit mono samples, in RIFF or in TIMIT's NIST SPHERE format.

    Args:
        path: Of the file.

    Returns:
        Samples in [-1, 1); their rate [Hz].

    Raises:
        DataError: It is neither.
    """
    data = path.read_bytes()
    if data.startswith(b"NIST_1A"):
        size = int(data[8:16])
        header = data[:size].decode("ascii", "replace")
        rate = int(header.partition("sample_rate -i ")[2].split()[0])
        return to_samples(data[size:]), rate
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        place, rate = 12, 0
        while place + 8 <= len(data):
            name, length = struct.unpack("<4sI", data[place : place + 8])
            body = data[place + 8 : place + 8 + length]
            if name == b"fmt ":
                kind, channels, rate = struct.unpack("<HHI", body[:8])
                if (kind, channels) != (1, 1):
                    break
            if name == b"data" and rate:
                return to_samples(body), rate
            place += 8 + length + length % 2
    raise DataError(
        f"16-bit mono RIFF or NIST was needed, but {path} is not", path=path
    )


def to_samples(body: bytes) -> Tensor:
    """Return little-endian 16-bit numbers in [-1, 1).

    Example:
        >>> to_samples(bytes([0, 64])).tolist()
        [0.5]
    """
    even = bytearray(body[: len(body) // 2 * 2])
    if not even:
        return torch.zeros(0)
    return torch.frombuffer(even, dtype=torch.int16).float() / 2**15
