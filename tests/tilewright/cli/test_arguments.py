from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from algebra.encodings import Blocked
from tilewright.cli.arguments import count, read_encoding, read_shape, seconds
from tilewright.cli.failures import InputError

BLOCKED = Blocked(
    size_per_thread=(1, 2), threads_per_warp=(4, 8), warps_per_cta=(1, 1), order=(1, 0)
)
TTGIR = (
    "#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [4, 8], "
    "warpsPerCTA = [1, 1], order = [1, 0]}>"
)


def test_the_spellings_of_an_encoding(tmp_path: Path) -> None:
    path = tmp_path / "dump.ttgir"
    path.write_text(f"#a = #ttg.shared_memory\n#b = {TTGIR}\n")
    for text in (TTGIR, repr(BLOCKED), f"@{path}"):
        assert read_encoding(text) == BLOCKED


@given(
    st.lists(st.integers(1, 1 << 40), min_size=1, max_size=5),
    st.sampled_from(["x", ",", ", ", " x "]),
    st.sampled_from(["{}", "[{}]", "({})", " {} "]),
)
def test_the_spellings_of_a_shape(sizes: list[int], separator: str, frame: str) -> None:
    assert read_shape(frame.format(separator.join(map(str, sizes)))) == sizes


@pytest.mark.parametrize(
    "text", ["", "x", "4x", "4x0", "-4", "4.0", "4x4y4", "4 4", "\uff19", "9" * 5000]
)
def test_no_shape(text: str) -> None:
    with pytest.raises(InputError, match="--shape"):
        read_shape(text)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", "", "9" * 5000])
def test_no_count(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        count(text)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon", ""])
def test_no_seconds(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        seconds(text)
