"""The spelling that Triton prints in TTGIR, read and written."""

from .parse import parse_encoding
from .printer import print_encoding

__all__ = ["parse_encoding", "print_encoding"]
