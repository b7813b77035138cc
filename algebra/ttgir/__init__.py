"""The spelling that Triton prints in TTGIR, read and written."""

from .parse import parse_encoding

__all__ = ["parse_encoding"]
