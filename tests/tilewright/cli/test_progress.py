import pytest

from tilewright.cli.progress import progress


def test_standard_output_stays_clean(capfd: pytest.CaptureFixture[str]) -> None:
    with progress("counting", 2) as begin:
        begin("one")
        begin("[two]")
    assert capfd.readouterr() == ("", "")
