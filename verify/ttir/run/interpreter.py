"""Run one program of a kernel on numpy arrays.

A value is an array and, where it came from a masked-off load without a default, a mask
of the lanes that depend on poison. A pointer is a buffer and an array of offsets. What
has no meaning here ends the run with a ``RunError``: it confirms nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from verify.mlir import (
    Block,
    Function,
    Module,
    Operation,
    PointerType,
    Type,
)

from . import numbers
from .memory import GuardedMemory
from .numbers import integer_range

Array = Any
MAX_OPERATIONS = 200_000
DEFAULT_FLOAT = 0.5
"""What a parameter that is a float is, where the launch does not say."""


class RunError(Exception):
    """The run cannot go on; says why."""


class ProgramEndedError(Exception):
    """An assertion failed: the program does no more."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Arguments and place of a program.

    Attributes:
        scalars: Parameter -> number.
        buffers: Pointer parameter -> name of its buffer.
        grid: Axis -> number of programs.
        program: Axis -> program id.
        exact: Whether integers never wrap.
    """

    scalars: Mapping[str, Any]
    buffers: Mapping[str, str]
    grid: Mapping[str, int]
    program: Mapping[str, int]
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Data:
    """A tensor or scalar.

    Attributes:
        values: Numbers; of a pointer its offsets.
        poison: Which lanes depend on poison; ``None`` = none.
        buffer: Of a pointer, its buffer; an array of names where lanes differ.
    """

    values: Array
    poison: Array | None = None
    buffer: Any = None


@dataclass(frozen=True, slots=True)
class Window:
    """A block pointer or tensor descriptor."""

    base: Data
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offsets: tuple[int, ...]
    block: tuple[int, ...]
    element: Type


def joined_poison(*parts: Data) -> Array | None:
    """Return which lanes depend on poison of any part."""
    found = [p.poison for p in parts if p.poison is not None]
    if not found:
        return None
    total = found[0]
    for one in found[1:]:
        total = total | one
    return total


class Interpreter:
    """State of a run."""

    def __init__(self, module: Module, launch: Launch, memory: GuardedMemory) -> None:
        self.module = module
        self.launch = launch
        self.memory = memory
        self.exact = launch.exact
        self.environment: dict[str, Any] = {}
        self.count = 0

    def integers(self, values: Any) -> Array:
        """Return an integer array of this run.

        NumPy turns object arrays without dims into Python integers on the way.
        """
        return np.asarray(values, dtype=object if self.exact else np.int64)

    def enter(self, function: Function) -> None:
        """Put the arguments of a launch in place."""
        for argument in function.arguments:
            name = argument.name[1:]
            kind = argument.type
            if isinstance(kind, PointerType):
                buffer = self.launch.buffers.get(name, name)
                data = Data(self.integers(0), None, buffer)
            elif integer_range(kind) is not None:
                value = self.launch.scalars.get(name, 0)
                boolean = str(kind) == "i1"
                data = Data(
                    np.asarray(bool(value)) if boolean else self.integers(value)
                )
            else:
                held = self.launch.scalars.get(name, DEFAULT_FLOAT)
                data = Data(np.asarray(float(held)))
            self.environment[argument.name] = data

    def value(self, name: str) -> Any:
        """Return the value of an SSA name."""
        try:
            return self.environment[name]
        except KeyError:
            raise RunError(f"{name} is not defined") from None

    def block(self, block: Block) -> tuple[Operation | None, list[Any]]:
        """Run a block; return its terminator and the terminator's operands."""
        for operation in block.body:
            self.run(operation)
        last = block.terminator
        if last is None:
            return None, []
        return last, [self.value(name) for name in last.operands]

    def run(self, operation: Operation) -> None:
        """Run one operation.

        Raises:
            RunError: it has no meaning here, or the run is too long.
        """
        from .handlers import elementwise
        from .regions import TABLE

        self.count += 1
        if self.count > MAX_OPERATIONS:
            raise RunError(f"more than {MAX_OPERATIONS} operations")
        operands = [self.value(name) for name in operation.operands]
        handler = TABLE.get(operation.name, elementwise)
        results = handler(self, operation, operands)
        for name, value in zip(operation.results, results, strict=True):
            if isinstance(value, Data) and not isinstance(value.values, np.ndarray):
                # NumPy gives Python's integers for object arrays without dims
                array = numbers.array(value.values, self.exact)
                value = Data(array, value.poison, value.buffer)
            self.environment[name] = value

    def function(self, function: Function) -> list[Any]:
        """Run a function's blocks from the entry to a return."""
        blocks = {block.label: block for block in function.body.blocks}
        here = function.body.blocks[0]
        while True:
            last, operands = self.block(here)
            if last is None:
                raise RunError("a block without a terminator")
            if last.name in ("tt.return", "func.return"):
                return operands
            if last.name == "cf.br":
                chosen = last.successors[0]
            elif last.name == "cf.cond_br":
                chosen = last.successors[0 if bool(operands[0].values) else 1]
            else:
                raise RunError(f"{last.name} at the end of a block")
            self.count += 1
            if self.count > MAX_OPERATIONS:
                raise RunError(f"more than {MAX_OPERATIONS} operations")
            handed = [self.value(name) for name in chosen.operands]
            here = blocks[chosen.block]
            for argument, value in zip(here.arguments, handed, strict=True):
                self.environment[argument.name] = value


def run_program(
    module: Module, function: Function, launch: Launch, memory: GuardedMemory
) -> None:
    """Run one program; what it does is noted in ``memory``.

    Raises:
        RunError: an operation has no meaning here, or the run is too long.
    """
    interpreter = Interpreter(module, launch, memory)
    interpreter.enter(function)
    try:
        with np.errstate(all="ignore"):
            interpreter.function(function)
    except RunError:
        raise
    except ProgramEndedError:
        memory.ended += 1
    except (
        KeyError,
        ValueError,
        TypeError,
        IndexError,
        AttributeError,
        OverflowError,
        MemoryError,
    ) as error:
        raise RunError(f"{type(error).__name__}: {error}") from error
