import math
import struct
from pathlib import Path

import pytest
import torch
from torch import Tensor

from manifolds.errors import DataError
from manifolds.tasks import timit
from manifolds.tasks.timit import (
    padded,
    read_wav,
    spectra_in,
    spectrum,
    to_samples,
)


def tone(hertz: float, rate: int, seconds: float) -> Tensor:
    time = torch.arange(int(rate * seconds)) / rate
    return 0.5 * torch.sin(2 * math.pi * hertz * time)


def body_of(samples: Tensor) -> bytes:
    return struct.pack(f"<{len(samples)}h", *(samples * 2**15).int().tolist())


def riff(samples: Tensor, rate: int, channels: int = 1) -> bytes:
    body = body_of(samples)
    kind = struct.pack("<HHIIHH", 1, channels, rate, 2 * rate, 2, 16)
    chunks = b"LIST" + struct.pack("<I", 3) + b"abc\0"
    chunks += b"fmt " + struct.pack("<I", len(kind)) + kind
    chunks += b"data" + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WAVE" + chunks


def nist(samples: Tensor, rate: int) -> bytes:
    head = f"NIST_1A\n   1024\nsample_rate -i {rate}\nend_head\n".encode()
    return head.ljust(1024) + body_of(samples)


@pytest.mark.parametrize("form", [riff, nist])
def test_both_formats_are_read(form: object, tmp_path: Path) -> None:
    assert callable(form)
    samples = tone(440, 16_000, 0.1)
    (tmp_path / "a.wav").write_bytes(form(samples, 16_000))
    found, rate = read_wav(tmp_path / "a.wav")
    assert rate == 16_000
    torch.testing.assert_close(found, samples, rtol=0, atol=1e-4)


@pytest.mark.parametrize("rate", [8000, 16_000])
def test_a_tone_is_a_peak_at_its_bin(rate: int) -> None:
    frames = spectrum(tone(1000, rate, 0.5), rate)
    assert frames.shape[1] == 129
    assert (frames.argmax(1) == 1000 * 256 // 8000).all()


def test_a_folder_is_a_task(tmp_path: Path) -> None:
    for part in ("TRAIN", "TEST"):
        for i, seconds in enumerate((0.3, 0.5)):
            path = tmp_path / part / "DR1" / f"{i}.WAV"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(nist(tone(500 + 100 * i, 16_000, seconds), 16_000))
    task = timit(tmp_path)
    batch = task.draw(4, torch.Generator().manual_seed(0))
    assert batch.mask is not None
    assert batch.inputs.shape == batch.targets.shape
    assert task.baseline > 0
    wrong = batch.targets + (1 - batch.mask).unsqueeze(-1) * 100
    assert float(task.loss(wrong, batch)) == 0.0
    assert task.accuracy(wrong, batch) is None
    whole = task.examine()
    assert whole is not None
    assert (task.input_size, task.output_size, task.every_step) == (129, 129, True)


def test_targets_are_the_next_frames() -> None:
    sequence = torch.arange(4.0).unsqueeze(1)
    batch = padded([sequence, sequence[:2]])
    assert batch.mask is not None
    assert batch.inputs[:, 0, 0].tolist() == [0, 1, 2]
    assert batch.targets[:, 0, 0].tolist() == [1, 2, 3]
    assert batch.mask.tolist() == [[1, 1], [1, 0], [1, 0]]


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--data-dir"):
        timit(None)
    with pytest.raises(DataError, match="has none"):
        spectra_in(tmp_path)
    (tmp_path / "a.wav").write_bytes(b"ID3")
    with pytest.raises(DataError, match="16-bit mono"):
        read_wav(tmp_path / "a.wav")
    (tmp_path / "b.wav").write_bytes(riff(tone(440, 8000, 0.1), 8000, channels=2))
    with pytest.raises(DataError, match="16-bit mono"):
        read_wav(tmp_path / "b.wav")
    assert to_samples(b"").numel() == 0
