"""Reader of MLIR text: TTIR and TTGIR of Triton 3.6 to 3.9; see ``reader``."""

from .attributes import Dense, HexFloat
from .locations import Location, described
from .reader import read_module
from .syntax import (
    Argument,
    Block,
    Function,
    Module,
    Operation,
    Region,
    Successor,
    operations_of,
)
from .types import (
    FunctionType,
    OtherType,
    PointerType,
    ScalarType,
    TensorType,
    Type,
    element_of,
    shape_of,
)

__all__ = [
    "Argument",
    "Block",
    "Dense",
    "Function",
    "FunctionType",
    "HexFloat",
    "Location",
    "Module",
    "Operation",
    "OtherType",
    "PointerType",
    "Region",
    "ScalarType",
    "Successor",
    "TensorType",
    "Type",
    "described",
    "element_of",
    "operations_of",
    "read_module",
    "shape_of",
]
