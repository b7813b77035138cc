"""Run the word operations of steps within a warp: what the lowered program does.

Words are four tagged bytes, so nothing depends on the values that elements may have. A
byte that no element lies in has the tag ``EMPTY``.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from .hardware import Hardware
from .lower import WORD_BYTES, Packing
from .simulate import Ids
from .words import Functional, Input, Prmt, Program, Selp, Shfl

EMPTY = -1
Words = npt.NDArray[np.int64]
"""Words x threads x bytes."""


def execute(program: Program, words: Words) -> Words:
    """Run a program.

    Args:
        program: What each thread executes.
        words: Inputs x threads x 4 tags; the lane is the lowest part of a thread.

    Returns:
        Outputs x threads x 4 tags.
    """
    threads = np.arange(words.shape[1])
    values: list[Any] = []
    for node in program.nodes:
        match node:
            case Input():
                value = words[node.word]
            case Selp():
                chosen = parities(threads, node.condition).astype(bool)[:, None]
                value = np.where(chosen, values[node.one], values[node.zero])
            case Prmt():
                both = np.concatenate([values[node.low], values[node.high]], axis=1)
                selector = np.full(threads.size, node.selector)
                for mask, change in node.varying:
                    selector ^= parities(threads, Functional(mask)) * change
                nibbles = [selector >> 4 * byte & 7 for byte in range(WORD_BYTES)]
                value = np.take_along_axis(both, np.stack(nibbles, axis=1), axis=1)
            case Shfl():
                lanes = np.full(threads.size, node.start)
                for bit, image in enumerate(node.lanes):
                    lanes ^= (threads >> bit & 1) * image
                warp = threads >> program.lane_bits << program.lane_bits
                value = values[node.word][warp | lanes]
        values.append(value)
    return np.stack([values[output] for output in program.outputs])


def parities(threads: Ids, functional: Functional) -> Ids:
    """Evaluate a functional at each thread."""
    result = np.full(threads.size, functional.constant)
    for bit in range(functional.mask.bit_length()):
        if functional.mask >> bit & 1:
            result ^= threads >> bit & 1
    return result


def pack(file: Ids, here: Hardware, element_bits: int) -> Words:
    """Put the elements of a file to words, as many to a word as fit.

    Args:
        file: Element ids by packed place.
        here: Sizes of the file.
        element_bits: Size of an element [bits].
    """
    packing = Packing(element_bits)
    size = element_bits // 8
    elements = file.reshape(1 << here.threads, 1 << here.registers)
    tags = elements[:, :, None] * size + np.arange(size)
    words = packing.words(here)
    filled = tags.reshape(1 << here.threads, words, -1)
    empty = np.full((*filled.shape[:2], WORD_BYTES - filled.shape[2]), EMPTY)
    return np.concatenate([filled, empty], axis=2).transpose(1, 0, 2)


def unpack(words: Words, here: Hardware, element_bits: int) -> Ids:
    """Return the element ids that words hold; EMPTY for one that is in pieces."""
    size = element_bits // 8
    used = min(WORD_BYTES, size << Packing(element_bits).parts(here))
    tags = words[:, :, :used].transpose(1, 0, 2)
    tags = tags.reshape(1 << here.threads, 1 << here.registers, size)
    ids = tags[:, :, 0] // size
    whole = (tags == ids[:, :, None] * size + np.arange(size)).all(axis=2)
    return np.where(whole, ids, EMPTY).reshape(-1)
