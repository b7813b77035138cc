"""Kernels with one fault each, and the setting that a check works in."""

import time
from collections.abc import Callable

import pytest

from verify.checking.arguments import Argument, Buffer, Scalar
from verify.checking.check import setting_of
from verify.checking.setting import Setting

ARGS: dict[str, Argument] = {
    "x": Buffer("fp32", "n"),
    "y": Buffer("fp32", "n", writes=True),
    "n": Scalar("i32", 0, 2**31 - 1),
}


def setting(
    text: str,
    args: dict[str, Argument] | None = None,
    grid: tuple[int | str, ...] = ("cdiv(n, 64)",),
    assume: tuple[str, ...] = (),
) -> Setting:
    """Return the setting of a kernel; by default of a copy of n elements."""
    deadline = time.perf_counter() + 20
    return setting_of(
        text, ARGS if args is None else args, {}, grid, assume, None, 2.0, deadline
    )


@pytest.fixture
def settings() -> Callable[..., Setting]:
    """A function from a kernel's text to its setting."""
    return setting
