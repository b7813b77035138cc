"""Does the PTX of a kernel move each element where the layouts say?

The kernel is a *conversion*: it loads a tensor through ``src``, each thread the
elements that ``src`` gives it, converts, and stores through ``dst``. Input and output
are the tensor in row-major order, so all that is right is the identity: element i of
the output is element i of the input.

Why running it once is a proof. The code has no loop, and no address, guard or lane may
depend on the input (such a kernel is Unknown), so for a CTA of known size its
execution is one fixed sequence of accesses, whatever the input holds. Numbers are
evaluated exactly in every thread; pointers only relative to their unknown bases; each
byte of data as an expression over opaque bytes of the input, compared exactly (see
``provenance``). Threads run in step, one of many possible orders: but any two accesses
of the same shared byte by different threads are ordered by a barrier, or all orders
give the same bytes (see ``memory``), so that each order gives the same result. Hence
what is found for this run holds for all inputs, all places of the buffers in memory
(that are aligned to 16 bytes and do not overlap) and all schedules.

Four obligations:

1. Each byte that is stored to the output is the byte of the input that belongs there.
   This includes registers of threads whose store is switched off because another thread
   has the same element: they too are destinations of the conversion.
2. Each byte of the output is stored.
3. The elements that a thread loads are those that ``src`` gives it; the elements of the
   registers that it stores are those that ``dst`` gives it.
4. No race, no read of unwritten memory, nothing outside a buffer, no misaligned access.

What is not covered: what the assembler makes of the text; several CTAs; loops; copies
by other units (``cp.async``, TMA); elements narrower than a byte; arithmetic on
elements. Where the model has no answer, one random input is tried, and a fault that it
shows is still a refutation.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from algebra import AffineLayout, DimMismatchError, LinearLayout
from algebra.dims import BLOCK, LANE, REGISTER, WARP, standard_out_dim_names
from algebra.verdict import Proved, Refuted, Unknown, Verdict

from .buffers import INPUT, OUTPUT, Buffers
from .execute import execute
from .halt import Fault, FaultError, UnsupportedError
from .machine import Machine
from .memory import Indices
from .reader import parse
from .syntax import Kernel
from .word import Word

SHARED_LIMIT = 227 * 1024
RANDOM_INPUT = "bytes numpy.random.default_rng(0).integers(0, 256, size)"
Layout = LinearLayout | AffineLayout


def prove_conversion(
    ptx: str,
    src: Layout,
    dst: Layout,
    element_bits: int,
    *,
    shared_bytes: int = SHARED_LIMIT,
    parameters: tuple[int, int] = (0, 1),
) -> Verdict:
    """Prove that a kernel converts a tensor from one layout to the other.

    Args:
        ptx: Text of a module with the kernel as its first entry.
        src: Map from register, lane and warp to the coordinates of the element that a
            thread loads. In memory ``dim0`` is the slowest dim; dims with other names
            are taken in the order of ``src``.
        dst: Likewise for what a thread stores.
        element_bits: Width of an element; 8, 16, 32, 64 or 128 [bits].
        shared_bytes: Size of the dynamic shared memory at launch [bytes].
        parameters: Positions of the pointers to input and output.

    Returns:
        ``Proved`` with counts; ``Refuted`` with a ``Fault`` that names thread,
        instruction, expected and actual element; ``Unknown`` with line and construct.

    Raises:
        ParseError: the text is no PTX; names the line.
        DimMismatchError: the layouts differ in the tensor or in the threads, or spread
            over several CTAs.

    Example:
        >>> layout = LinearLayout.identity_1d(32, "lane", "dim0")
        >>> prove_conversion('''
        ... .entry copy(.param .u64 .ptr .global a, .param .u64 .ptr .global b)
        ... .reqntid 32 {
        ...   .reg .b32 %r<3>; .reg .b64 %rd<5>;
        ...   ld.param.b64 %rd1, [a]; ld.param.b64 %rd2, [b];
        ...   mov.u32 %r1, %tid.x;
        ...   mad.wide.u32 %rd3, %r1, 4, %rd1;
        ...   mad.wide.u32 %rd4, %r1, 4, %rd2;
        ...   ld.global.b32 %r2, [%rd3];
        ...   st.global.b32 [%rd4], %r2;
        ...   ret;
        ... }''', layout, layout, 32).method
        'exhaustive execution of all threads'
    """
    started = time.perf_counter()
    order = _order(src)
    loaded = _places(src, order)
    stored = _places(dst, order)
    elements = _check(src, dst, loaded, stored, element_bits)
    kernel = parse(ptx)
    threads = loaded.shape[0]
    if kernel.threads not in (None, threads):
        raise DimMismatchError(
            f"needed a kernel of {threads} threads, as src has lanes times warps, got "
            f"threads={kernel.threads}; compile it for as many warps",
            threads=kernel.threads,
        )
    size = elements * element_bits // 8
    opaque = np.arange(1, size + 1, dtype=np.int32)
    buffers = Buffers(elements, element_bits // 8, opaque)
    pointers = _pointers(kernel, parameters, threads)
    machine = Machine(kernel, threads, buffers, pointers, shared_bytes)
    halted = _run(machine)
    if isinstance(halted, Unknown):
        # perhaps one input shows already that it is wrong
        given = np.random.default_rng(0).integers(0, 256, size)
        trial = Buffers(elements, element_bits // 8, ~given.astype(np.int32))
        found = _run(Machine(kernel, threads, trial, pointers, shared_bytes))
        if isinstance(found, Refuted):
            return Refuted(replace(found.counterexample, given=RANDOM_INPUT))
        return halted
    if halted is not None:
        return halted
    fault = _uncovered(buffers) or (
        _strays("loads", buffers.loads, loaded)
        or _strays("stores", buffers.stores, stored)
    )
    if fault is not None and machine.branched and not fault.kind.startswith("missing"):
        return Unknown(
            f"line {machine.branched}: a branch hides registers of thread "
            f"{fault.thread}: {fault.expected}"
        )
    if fault is not None:
        return Refuted(fault)
    return Proved(
        "exhaustive execution of all threads",
        (
            ("threads", threads),
            ("elements", elements),
            ("instructions", len(kernel.body)),
            ("seconds", round(time.perf_counter() - started, 4)),
        ),
    )


def _run(machine: Machine) -> Refuted | Unknown | None:
    """Execute; return why it did not come to its end."""
    try:
        execute(machine)
    except UnsupportedError as error:
        return Unknown(str(error))
    except FaultError as error:
        return Refuted(error.fault)
    return None


def _linear(layout: Layout) -> LinearLayout:
    return layout.linear if isinstance(layout, AffineLayout) else layout


def _order(src: Layout) -> tuple[str, ...]:
    """Return the names of the tensor's dims, the slowest in memory first."""
    names = _linear(src).out_names
    standard = standard_out_dim_names(len(names))
    return standard if set(names) == set(standard) else names


def _places(layout: Layout, order: tuple[str, ...]) -> Indices:
    """Return the row-major index of each register's element [threads, registers]."""
    linear = _linear(layout)
    strides, size = {name: 0 for name in linear.out_names}, 1
    for name in reversed(order):
        strides[name] = size
        size *= linear.out_dims.get(name, 1)
    start = 0
    if isinstance(layout, AffineLayout):
        start = sum(strides[d] * layout.offset.get(d, 0) for d in strides)

    def span(in_dim: str) -> Indices:
        found = np.zeros(1, np.int64)
        for basis in linear.bases.get(in_dim, ()):
            image = sum(
                strides[name] * step
                for name, step in zip(linear.out_names, basis, strict=True)
            )
            found = np.concatenate([found, found ^ image])
        return found

    threads = (span(WARP)[:, None] ^ span(LANE)[None, :]).reshape(-1, 1)
    places: Indices = threads ^ span(REGISTER)[None, :] ^ start
    return places


def _check(
    src: Layout, dst: Layout, loaded: Indices, stored: Indices, element_bits: int
) -> int:
    """Return the number of elements; raise where the question makes no sense."""
    sides = {}
    for name, layout in (("src", src), ("dst", dst)):
        linear = _linear(layout)
        if linear.has_in_dim(BLOCK) and linear.get_in_dim_size(BLOCK) > 1:
            raise DimMismatchError(
                f"needed layouts of one CTA, got block={linear.get_in_dim_size(BLOCK)} "
                f"in {name}; prove the conversion of one CTA",
                dim=BLOCK,
            )
        sides[name] = dict(linear.out_dims)
    if sides["src"] != sides["dst"]:
        raise DimMismatchError(
            f"out_dims of src and dst differ: src={sides['src']}, dst={sides['dst']}; "
            "reshape one of them first",
            src=sides["src"],
            dst=sides["dst"],
        )
    if loaded.shape[0] != stored.shape[0]:
        raise DimMismatchError(
            f"src has threads={loaded.shape[0]}, dst has threads={stored.shape[0]}; "
            "give both as many lanes and warps",
            src=loaded.shape[0],
            dst=stored.shape[0],
        )
    if element_bits not in (8, 16, 32, 64, 128):
        raise DimMismatchError(
            "needed elements of 8, 16, 32, 64 or 128 bits, got "
            f"element_bits={element_bits}; pack them first",
            element_bits=element_bits,
        )
    elements = 1
    for size in sides["src"].values():
        elements *= size
    return elements


def _pointers(
    kernel: Kernel, positions: tuple[int, int], threads: int
) -> dict[str, Word]:
    found = {}
    zeros = np.zeros(threads, np.uint64)
    for base, position in zip((INPUT, OUTPUT), positions, strict=True):
        if position < len(kernel.parameters):
            name, _ = kernel.parameters[position]
            found[name] = Word(64, zeros, None, base)
    return found


def _uncovered(buffers: Buffers) -> Fault | None:
    missing = np.flatnonzero(~buffers.covered)
    if not len(missing):
        return None
    element = int(missing[0]) // buffers.element_bytes
    return Fault("missing store", 0, "", 0, f"element {element} stored", "never stored")


def _strays(verb: str, accesses: Sequence[Indices], due: Indices) -> Fault | None:
    """Return a thread whose accesses are not of the elements that are its own."""
    threads = due.shape[0]
    none = np.full((threads, 1), -1)
    seen = np.sort(np.concatenate([none, *accesses], axis=1), axis=1)
    owned = np.sort(due, axis=1)
    for thread in range(threads):
        mine = set(owned[thread].tolist())
        found = set(seen[thread].tolist()) - {-1}
        if mine != found:
            element = min(mine ^ found)
            said = (f"element {element}", f"no element {element}")
            expected, actual = said if element in mine else said[::-1]
            return Fault(
                f"wrong {verb}", 0, "", thread, f"{expected} among its {verb}", actual
            )
    return None
