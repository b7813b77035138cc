import dataclasses

import pytest

from compiler.errors import OptionError
from compiler.options import MODES, Options


def test_defaults_compile_with_fallback() -> None:
    options = Options.of()
    assert options.lower and options.fallback and not options.certify
    assert options == Options()


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_is_a_mode(mode: str) -> None:
    options = Options.of(mode)
    assert options.mode == mode
    assert options.graphs == (mode in ("reduce-overhead", "max-autotune"))
    assert options.autotune == mode.startswith("max-autotune")


def test_the_mode_may_stand_among_the_options() -> None:
    assert Options.of(options={"mode": "max-autotune"}).autotune


def test_the_trace_folder_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TILEWRIGHT_TRACE", "/somewhere")
    assert Options.of().trace == "/somewhere"
    assert Options.of(options={"trace": "here"}).trace == "here"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"certfy": True}, "did you mean 'certify'"),
        ({"mode": "fast"}, "got mode='fast'"),
        ({"certify": 1}, "got certify=1"),
        ({"layouts": "ours"}, "layouts must be one of triton, assigned, got"),
        ({"product_epilogues": True}, "one of off, measured, always, got"),
        ({"threads": 0}, "got threads=0"),
    ],
)
def test_what_is_unknown_is_named(options: dict[str, object], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        Options.of(options=options)


def test_options_are_frozen_and_hashable() -> None:
    assert len({Options(), Options(), Options(certify=True)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options().certify = True  # type: ignore[misc]
