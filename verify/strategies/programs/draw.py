"""The type of hypothesis' ``draw``."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
"""Takes a strategy, returns a value of it."""
