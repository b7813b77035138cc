"""Run straight-line code: one instruction after the other, all threads in step.

Branches may only lead forward, on what is known of the thread: the threads that take
one sleep until its label. Anything else ends the run as unsupported.
"""

from collections.abc import Callable

import numpy as np

from . import access, arithmetic, logic, moves
from .halt import UnsupportedError
from .machine import WARP, Machine
from .syntax import Immediate, Instruction, Label, Symbol
from .word import Mask

Handler = Callable[[Machine, Instruction], None]

HANDLERS: dict[str, Handler] = {
    "abs": arithmetic.neg,
    "add": arithmetic.add,
    "and": logic.bitwise,
    "bfe": logic.extract,
    "bfi": logic.insert,
    "cvt": moves.cvt,
    "ld": access.load,
    "ldmatrix": access.load_matrix,
    "lop3": logic.lop3,
    "mad": arithmetic.mul,
    "max": arithmetic.extremum,
    "min": arithmetic.extremum,
    "mov": moves.mov,
    "mul": arithmetic.mul,
    "neg": arithmetic.neg,
    "not": logic.invert,
    "or": logic.bitwise,
    "prmt": logic.prmt,
    "selp": moves.selp,
    "setp": arithmetic.setp,
    "shf": arithmetic.funnel,
    "shfl": moves.shfl,
    "shl": arithmetic.shift,
    "shr": arithmetic.shift,
    "st": access.store,
    "stmatrix": access.store_matrix,
    "sub": arithmetic.sub,
    "xor": logic.bitwise,
}
FENCES = {"fence", "membar"}


def execute(machine: Machine) -> None:
    """Run the kernel's body to its end.

    Args:
        machine: Fresh state; it is changed.

    Raises:
        UnsupportedError: a construct that the model does not cover.
        FaultError: an access that goes wrong in some thread.
    """
    asleep: dict[str, Mask] = {}
    passed: set[str] = set()
    for item in machine.kernel.body:
        if isinstance(item, Label):
            passed.add(item.name)
            woken = asleep.pop(item.name, None)
            if woken is not None:
                machine.running = _tidy(machine, machine.running | woken)
            continue
        machine.active = machine.running
        if item.guard is not None:
            truth = machine.truth(item, item.guard)
            machine.active = _tidy(machine, machine.running & truth)
        if item.parts[0] in ("bra", "ret", "exit"):
            _leave(machine, item, asleep, passed)
        elif not machine.active.any():
            _skip(machine, item)
        else:
            _step(machine, item)
    if asleep:
        raise UnsupportedError(0, f"no label {min(asleep)} follows its branch")


def _tidy(machine: Machine, mask: Mask) -> Mask:
    return machine.everyone if mask.all() else mask


def _step(machine: Machine, instruction: Instruction) -> None:
    name = instruction.parts[0]
    handler = HANDLERS.get(name)
    if handler is not None:
        handler(machine, instruction)
    elif name in ("bar", "barrier"):
        _barrier(machine, instruction)
    elif name == "trap":
        thread = int(np.flatnonzero(machine.active)[0])
        raise machine.fault(instruction, "trap", thread, "no trap", "a trap")
    elif name not in FENCES:
        raise machine.unsupported(instruction, "unknown opcode")


def _skip(machine: Machine, instruction: Instruction) -> None:
    """Let an instruction pass that no thread executes; its address still counts."""
    if instruction.parts[0] == "st" and "global" in instruction.parts:
        access.store(machine, instruction)
    elif instruction.parts[0] not in {*HANDLERS, *FENCES, "bar", "barrier", "trap"}:
        raise machine.unsupported(instruction, "unknown opcode")


def _barrier(machine: Machine, instruction: Instruction) -> None:
    parts = [p for p in instruction.parts[1:] if p not in ("cta", "aligned")]
    if parts == ["warp", "sync"]:
        members = machine.read(instruction, instruction.operands[0], 32)
        full = members.is_number and (members.numbers == 0xFFFFFFFF).all()
        if not full or not machine.active.all():
            raise machine.unsupported(instruction, "a part of a warp")
        if machine.threads == WARP:
            machine.shared.cta_barrier()
        else:
            machine.shared.warp_barrier()
        return
    if parts != ["sync"]:
        raise machine.unsupported(instruction, "this kind of barrier")
    for operand in instruction.operands:
        if not isinstance(operand, Immediate):
            raise machine.unsupported(instruction, "a barrier chosen at run time")
    counts = instruction.operands[1:]
    if counts and counts != (Immediate(machine.threads),):
        raise machine.unsupported(instruction, "a barrier of some threads")
    if not machine.active.all():
        raise machine.unsupported(instruction, "not all threads reach the barrier")
    machine.shared.cta_barrier()


def _leave(
    machine: Machine,
    instruction: Instruction,
    asleep: dict[str, Mask],
    passed: set[str],
) -> None:
    """Let the active threads leave: for a later label, or for good."""
    if instruction.parts[0] == "bra":
        target = instruction.operands[-1]
        if not isinstance(target, Symbol):
            raise machine.unsupported(instruction, "this form of branch")
        if target.name in passed:
            raise machine.unsupported(instruction, "a loop")
        asleep[target.name] = asleep.get(target.name, False) | machine.active
    machine.running = machine.running & ~machine.active
    if machine.running.any() and not machine.branched:
        machine.branched = instruction.line
