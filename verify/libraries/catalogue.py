"""The libraries that campaigns know."""

import importlib
from functools import cache

from .operation import Library

LIBRARIES = {
    "tensor_layouts": "tensor_layouts:TENSOR_LAYOUTS",
    "pycute": "pycute:PYCUTE",
    "torch_pycute": "pycute:TORCH_PYCUTE",
    "cute_dsl": "cute_dsl:CUTE_DSL",
    "triton_layouts": "triton_layouts:TRITON_LAYOUTS",
    "triton_interpreter": "triton_interpreter:TRITON_INTERPRETER",
    "triton_compiler": "triton_compiler:TRITON_COMPILER",
}
"""Subject of ``tilewright hunt`` -> module and name of the library."""


@cache
def library(name: str) -> Library:
    """Return a library.

    Raises:
        KeyError: There is none of this name.
    """
    module, _, attribute = LIBRARIES[name].partition(":")
    found = getattr(importlib.import_module(f"verify.libraries.{module}"), attribute)
    assert isinstance(found, Library)
    return found
