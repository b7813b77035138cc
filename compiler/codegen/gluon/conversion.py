"""A plan as the text of a Gluon function that a kernel author can paste.

The function works on the *hardware form* of a tensor: one dim that counts places, the
register lowest, then lane and warp. In that form every layout is the identity, so a
plan between any layouts, copies, xors and offsets included, is one block of PTX, and
all else is relabelling that Triton compiles to nothing.

The tensor form, in ``tensor_conversion``, starts and ends with the caller's tensor.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.convert.hardware import Hardware
from compiler.convert.renaming import Renaming
from compiler.convert.steps import Step

from .declared import declaration
from .plan_block import Block, block, ends, inside, log2_parts

HEADER = """from triton.experimental import gluon
from triton.experimental.gluon import language as gl
"""


@dataclass(frozen=True, slots=True)
class FunctionText:
    """A Gluon function.

    Attributes:
        name: Its name.
        text: Imports, constants and the function.
        block: What it executes; None if it only renames.
    """

    name: str
    text: str
    block: Block | None


def hardware_function(
    steps: Sequence[Step],
    here: Hardware,
    element_bits: int,
    *,
    name: str = "convert",
    shared_bytes: int = 0,
    repeated: bool = True,
    tile: str = "",
    in_common: bool = True,
    renamed: bool = False,
) -> FunctionText:
    """Return a function from hardware form to hardware form.

    Args:
        steps: Steps of a plan.
        here: Sizes of the first file.
        element_bits: Size of an element [bits].
        name: Name of the function.
        shared_bytes: Shared memory of the steps [bytes].
        repeated: Whether it may run more than once in a kernel.
        tile: Name of shared memory that ``tile_function`` declares; default: its own.
        in_common: Whether other plans' functions use that memory, too.
        renamed: As ``block``.

    Raises:
        UnsupportedLayoutError: as ``block``.
    """
    if not steps:
        lines = [f"def {name}(x):", '    """Change nothing."""', "    return x"]
        return FunctionText(name, module([], lines), None)
    made = block(
        steps,
        element_bits,
        shared_bytes=shared_bytes,
        repeated=repeated,
        tile=tile,
        in_common=in_common,
        renamed=renamed,
    )
    _, last = ends(inside(steps))
    named = constants(name, made, here, last)
    prefix = name.upper()
    body = [
        f"def {name}(x):",
        '    """Convert a tensor in hardware form: one dim of places."""',
        "    dtype: gl.constexpr = x.dtype",
        f"    x = gl.convert_layout(x, {prefix}_SRC)",
        *core(prefix, made, here, element_bits),
        f"    return gl.convert_layout(y, {prefix}_DST)",
    ]
    return FunctionText(name, module(named, body), made)


def tile_function(name: str, shared_bytes: int, threads: Hardware) -> FunctionText:
    """Return a function ``declare_NAME()`` for memory that several conversions share.

    A kernel calls it once, before all conversions with ``tile=NAME``. Those of several
    plans must be emitted with ``repeated=True``, since another one may have used the
    memory.

    Args:
        name: Of the shared memory in PTX; no other variable of the kernel has it.
        shared_bytes: As much as the largest conversion takes [bytes].
        threads: Sizes of a file of the kernel.
    """
    places = Hardware(0, threads.lanes, threads.warps, 0)
    text = declaration(name, shared_bytes) + " mov.u32 $0, $1;"
    body = [
        f"def declare_{name}():",
        '    """Declare the memory; before its first use, once in a kernel."""',
        f"    place = gl.arange(0, {1 << places.bits}, {identity_layout(places)})",
        f'    gl.inline_asm_elementwise("{text}", "=r,r", [place], dtype=gl.int32, '
        "is_pure=False, pack=1)",
    ]
    return FunctionText(f"declare_{name}", module([], body), None)


def module(named: Sequence[str], body: Sequence[str]) -> str:
    """Return the text of a module with constants and one function."""
    parts = [HEADER, *named, "", "@gluon.jit", *body, ""]
    return "\n".join(parts)


def constants(name: str, made: Block, first: Hardware, last: Hardware) -> list[str]:
    """Return the constants of a function.

    Args:
        name: Of the function.
        made: The block.
        first: Sizes of the first file.
        last: Sizes of the last file.
    """
    prefix = name.upper()
    return [
        f'{prefix}_PTX = gl.constexpr("""{made.text}""")',
        f'{prefix}_OPERANDS = gl.constexpr("{made.constraints}")',
        f"{prefix}_SRC = gl.constexpr({identity_layout(first)})",
        f"{prefix}_DST = gl.constexpr({identity_layout(last)})",
    ]


def identity_layout(here: Hardware) -> str:
    """Return the Gluon layout of the hardware form.

    Example:
        >>> identity_layout(Hardware(1, 2, 0, 0))
        'gl.DistributedLinearLayout([[1]], [[2], [4]], [], [], [8])'
    """
    parts, bit = [], 0
    for bits in here.dims.values():
        parts.append(str([[1 << i] for i in range(bit, bit + bits)]))
        bit += bits
    return f"gl.DistributedLinearLayout({', '.join(parts)}, [{1 << bit}])"


def file_layout(here: Hardware, registers: int) -> str:
    """Return the Gluon layout of threads x registers.

    Args:
        here: Sizes of a file on the same threads.
        registers: Log2 of the registers of a thread [bits].

    Example:
        >>> file_layout(Hardware(0, 1, 1, 0), 1)
        'gl.DistributedLinearLayout([[0, 1]], [[1, 0]], [[2, 0]], [], [4, 2])'
    """
    parts = [str([[0, 1 << bit] for bit in range(registers)])]
    bit = 0
    for bits in (here.lanes, here.warps, here.blocks):
        parts.append(str([[1 << i, 0] for i in range(bit, bit + bits)]))
        bit += bits
    shape = [1 << bit, 1 << registers]
    return f"gl.DistributedLinearLayout({', '.join(parts)}, {shape})"


def core(
    prefix: str, made: Block, here: Hardware, element_bits: int, second: str = ""
) -> list[str]:
    """Return the lines that make ``y`` of ``x``, both in hardware form.

    Args:
        prefix: Of the names of the constants.
        made: The block.
        here: Sizes of the first file.
        element_bits: Size of an element [bits].
        second: Another tensor that the block takes, with the places of the result and
            elements of a word; default: none.
    """
    cuts, joins = log2_parts(made.inputs, made.outputs)
    threads = 1 << here.threads
    lines = [f"x = x.to(gl.int{element_bits}, bitcast=True)"]
    before = made.taken.old if made.taken else made.inputs + made.joined
    lines.append(f"x = gl.reshape(x, [{threads}, {1 << before}])")
    lines += _renamed("x", made.taken, threads)
    if made.taken:
        # operands come in the order of registers, which a relabelling leaves as it was
        lines.append(
            f"x = gl.convert_layout(x, {file_layout(here, made.inputs + made.joined)})"
        )
    if made.operand_bits != element_bits:
        lines += _joined(made, element_bits, threads)
    parts, names = _cut("x", made.inputs, cuts, threads)
    lines += parts
    if second:
        lines.append(
            f"{second} = gl.reshape({second}, [{threads}, {1 << made.outputs}])"
        )
        parts, more = _cut(second, made.outputs, joins, threads)
        lines += parts
        names += more
        # parts of both sides have the same layout, but not the same spelling of it
        same = file_layout(here, min(made.inputs, made.outputs))
        lines += [f"{part} = gl.convert_layout({part}, {same})" for part in names]
    given = [f"given{index}" for index in range(-(-len(made.given) // made.pack))]
    lines += _given(made, names[0], threads)
    results = [f"y{index:0{joins}b}" for index in range(1 << joins)] if joins else ["y"]
    kinds = ", ".join([f"gl.int{made.operand_bits}"] * len(results))
    dtype = f"({kinds})" if len(results) > 1 else kinds
    lines += [
        f"{', '.join(results)} = gl.inline_asm_elementwise(",
        f"    {prefix}_PTX,",
        f"    {prefix}_OPERANDS,",
        f"    [{', '.join([*names, *given])}],",
        f"    dtype={dtype},",
        "    is_pure=False,",
        f"    pack={made.pack},",
        ")",
    ]
    size = min(made.inputs, made.outputs)
    for level in range(joins, 0, -1):
        for index in range(1 << level - 1):
            stem = f"y{index:0{level - 1}b}" if level > 1 else "y"
            low, high = f"{stem}0", f"{stem}1"
            joined = f"gl.permute(gl.join({low}, {high}), [0, 2, 1])"
            lines.append(f"{stem} = gl.reshape({joined}, [{threads}, {2 << size}])")
        size += 1
    if made.operand_bits != element_bits:
        lines += _parted(made, element_bits, threads)
    lines += _renamed("y", made.left, threads)
    after = len(made.left.sources) if made.left else made.outputs + made.parted
    lines.append(f"y = gl.reshape(y, [{threads << after}])")
    lines.append("y = y.to(dtype, bitcast=True)")
    return [f"    {line}" for line in lines]


def _cut(name: str, size: int, cuts: int, threads: int) -> tuple[list[str], list[str]]:
    """Return lines that halve a tensor's registers some times, and the parts' names."""
    lines: list[str] = []
    names = [name]
    for _ in range(cuts):
        size -= 1
        halves = []
        for part in names:
            low, high = f"{part}0", f"{part}1"
            turned = f"gl.permute(gl.reshape({part}, [{threads}, 2, {1 << size}]), "
            lines.append(f"{low}, {high} = gl.split({turned}[0, 2, 1]))")
            halves += [low, high]
        names = halves
    return lines, names


def _given(made: Block, like: str, threads: int) -> list[str]:
    """Return lines that compute what a block takes from outside.

    Register i of an operand holds its value i; what is selected by the number of a
    register is known when the kernel is compiled.
    """
    if not made.given:
        return []
    lines = [
        f"here: gl.constexpr = {like}.type.layout",
        f"thread = gl.arange(0, {threads}, gl.SliceLayout(1, here))",
        *made.computed,
        f"register = gl.arange(0, {made.pack}, gl.SliceLayout(0, here))",
        "register = gl.expand_dims(register, 0)",
    ]
    for index, name in enumerate(made.given):
        tensor, place = divmod(index, made.pack)
        rest = f"given{tensor}" if place else "0"
        value = f"gl.expand_dims({name}, 1)"
        lines.append(f"given{tensor} = gl.where(register == {place}, {value}, {rest})")
    return lines


def _renamed(name: str, renaming: Renaming | None, threads: int) -> list[str]:
    """Return lines after which registers are renamed; they compile to nothing."""
    if renaming is None:
        return []
    lines = []
    sources = list(renaming.sources)
    copies = sources.count(None)
    size = renaming.old
    for _ in range(copies):
        size += 1
        lines.append(
            f"{name} = gl.reshape(gl.join({name}, {name}), {[threads, 1 << size]})"
        )
    # copies are the lowest bits now
    fresh = iter(range(copies))
    order = [next(fresh) if s is None else s + copies for s in sources]
    dropped = [bit for bit in range(size) if bit not in order]
    lines += _reordered(name, [*dropped, *order], threads)
    for _ in dropped:
        size -= 1
        halves = f"gl.split(gl.reshape({name}, {[threads, 1 << size, 2]}))"
        lines.append(f"{name}, _ = {halves}")
    return lines


def _reordered(name: str, order: Sequence[int], threads: int) -> list[str]:
    """Return lines after which register bit i is what bit ``order[i]`` was."""
    count = len(order)
    if list(order) == list(range(count)):
        return []
    dims = [0, *(count - bit for bit in reversed(order))]
    apart = f"gl.reshape({name}, {[threads, *[2] * count]})"
    together = f"gl.reshape(gl.permute({apart}, {dims}), [{threads}, {1 << count}])"
    return [f"{name} = {together}"]


def _joined(made: Block, element_bits: int, threads: int) -> list[str]:
    """Return lines that join neighbouring elements to words."""
    lines = [f"x = x.to(gl.uint{element_bits}, bitcast=True).to(gl.int32)"]
    width = element_bits
    for level in reversed(range(made.joined)):
        half = 1 << made.inputs + level
        lines += [
            f"x, upper = gl.split(gl.reshape(x, [{threads}, {half}, 2]))",
            f"x = x | (upper << {width})",
        ]
        width *= 2
    return lines


def _parted(made: Block, element_bits: int, threads: int) -> list[str]:
    """Return lines that cut words to their elements."""
    lines = []
    width = element_bits << made.parted
    for level in range(made.parted):
        width //= 2
        size = 2 << made.outputs + level
        lines.append(f"y = gl.reshape(gl.join(y, y >> {width}), [{threads}, {size}])")
    lines.append(f"y = y.to(gl.int{element_bits})")
    return lines
