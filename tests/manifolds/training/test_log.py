from pathlib import Path

import pytest

from manifolds.training.log import Row, append, plot, read, smooth, write

ROWS = [Row(i, 1 / i, 0.5, 1e-6, float(i)) for i in range(1, 6)]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "losses.csv"
    write(path, ROWS[:3])
    for row in ROWS[3:]:
        append(path, row)
    assert read(path) == ROWS
    assert read(path, until=2) == ROWS[:2]
    assert read(tmp_path / "none.csv") == []


def test_a_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "losses.csv"
    write(path, ROWS)
    path.write_text(path.read_text()[:-12])
    assert read(path) == ROWS[:-1]


@pytest.mark.parametrize("width", [1, 3, 20])
def test_means(width: int) -> None:
    losses = [float(i * i) for i in range(10)]
    for i, mean in enumerate(smooth(losses, width)):
        window = losses[max(0, i - width + 1) : i + 1]
        assert mean == pytest.approx(sum(window) / len(window))


def test_pictures(tmp_path: Path) -> None:
    plot({"one": ROWS, "two": ROWS[:2]}, 0.5, tmp_path / "losses.png")
    assert (tmp_path / "losses.png").read_bytes().startswith(b"\x89PNG")
