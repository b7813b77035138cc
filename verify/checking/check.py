"""``verify.check``: prove a Triton kernel, or show a launch that breaks it."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from algebra.errors import ArgumentError
from algebra.verdict import Proved, Refuted, Unknown, Verdict
from verify.mlir import Function, PointerType, read_module
from verify.symbolic.terms import ONE, Term
from verify.ttir.machine import deep_recursion, evaluate, function_of
from verify.ttir.program import LOAD, Program

from .arguments import Argument, Buffer, Scalar, dtype_name
from .confirm import confirmed, hole
from .coverage import covered
from .expressions import parse_expression
from .finding import Finding, combined
from .hazards import ordering, race_free
from .memory_safety import CANDIDATE, bounds, wraps
from .parameters import with_names
from .poison import definedness, promises
from .preconditions import (
    Condition,
    failing,
    is_possible,
    spelled,
    under,
    weakest,
)
from .programs import digits, weights_of
from .races import written_once
from .reference import agrees
from .report import Report
from .setting import AXES, Setting, assumed, memory_of, scalar_names, solved

Obligation = Callable[[Setting], Iterator[Finding]]

CHECKS: dict[str, Obligation] = {
    "in_bounds": bounds,
    "no_wrap": wraps,
    "write_once": written_once,
    "no_race": race_free,
    "coverage": covered,
    "no_poison": definedness,
    "alignment": promises,
}
"""Obligation -> what checks it."""


def check(
    kernel: Any,
    args: Mapping[str, Argument],
    constexprs: Mapping[str, Any] | None = None,
    grid: Sequence[int | str] | int | str = (1,),
    assume: Sequence[str] | str = (),
    reference: Any = None,
    *,
    function: str | None = None,
    timeout: float = 2.0,
    budget: float = 30.0,
    preconditions: bool = True,
) -> Report:
    """Prove a kernel for all sizes, programs and lanes, or refute it with a launch.

    Law: an obligation is ``Proved`` only if it holds for every launch that the
    arguments, the grid and the assumptions allow; ``Refuted`` only with a launch that
    was run and did break it; anything else is ``Unknown`` with a reason.

    Args:
        kernel: A ``@triton.jit`` function; or a path to TTIR text; or the text.
        args: Parameter -> ``Buffer`` or ``Scalar``; further names are free sizes.
        constexprs: Values of the ``tl.constexpr`` parameters.
        grid: Number of programs along each axis: ints or expressions in text.
        assume: Conditions on the scalars, in text.
        reference: What the kernel has to compute: a second kernel with the same
            parameters, or a function of the parameters that it names, on float64
            tensors, which returns the outputs in order.
        function: Which function of a TTIR text; default the only public one.
        timeout: Limit of one question [seconds].
        budget: Limit of the whole check [seconds].
        preconditions: Whether to look for conditions under which it is right.

    Raises:
        ArgumentError: a parameter is missing or unknown, an expression has no meaning.
        ParseError: the TTIR text is malformed; names line and construct.

    Example:
        >>> text = '''
        ... tt.func public @fill(%y: !tt.ptr<i32>, %n: i32) {
        ...   %c = arith.constant 64 : i32
        ...   %p = tt.get_program_id x : i32
        ...   %s = arith.muli %p, %c : i32
        ...   %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
        ...   %b = tt.splat %s : i32 -> tensor<64xi32>
        ...   %o = arith.addi %b, %r : tensor<64xi32>
        ...   %m = tt.splat %n : i32 -> tensor<64xi32>
        ...   %t = arith.cmpi slt, %o, %m : tensor<64xi32>
        ...   %q = tt.splat %y : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
        ...   %a = tt.addptr %q, %o : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
        ...   tt.store %a, %o, %t : tensor<64x!tt.ptr<i32>>
        ...   tt.return
        ... }'''
        >>> args = {"y": Buffer("i32", "n", writes=True), "n": Scalar("i32", 0, 10**6)}
        >>> report = check(text, args, grid=("cdiv(n, 64)",))
        >>> [type(verdict).__name__ for verdict in report.verdicts.values()]
        ['Proved', 'Proved', 'Proved', 'Proved', 'Proved', 'Proved', 'Proved']
    """
    started = time.perf_counter()

    def setting_for(subject: Any, name: str | None) -> Setting:
        return setting_of(
            subject,
            args,
            constexprs or {},
            (grid,) if isinstance(grid, int | str) else tuple(grid),
            (assume,) if isinstance(assume, str) else tuple(assume),
            name,
            timeout,
            started + budget,
        )

    setting = setting_for(kernel, function)
    try:
        with deep_recursion():
            findings, verdicts = decide(setting)
            if reference is not None:
                found = list(agrees(setting, _reference(reference, setting_for)))
                findings += found
                verdicts["reference"] = combined(found)
            condition = precondition_of(setting, findings) if preconditions else None
        report = Report(
            kernel=setting.program.name,
            verdicts=verdicts,
            findings=tuple(findings),
            precondition=condition,
            assumptions=tuple(setting.texts),
            seconds=time.perf_counter() - started,
            questions=setting.solver.asked,
        )
    finally:
        setting.solver.close()
    return report


def _reference(
    reference: Any, setting_for: Callable[[Any, str | None], Setting]
) -> Setting | Callable[..., Any]:
    """Return a second kernel's setting, or the Python function itself."""
    is_kernel = isinstance(reference, str | Path) or hasattr(reference, "arg_names")
    if is_kernel:
        return setting_for(reference, None)
    if callable(reference):
        function: Callable[..., Any] = reference
        return function
    raise ArgumentError(
        f"needed a second kernel or a Python function, got reference={reference!r}",
        argument="reference",
        value=reference,
    )


def decide(setting: Setting) -> tuple[list[Finding], dict[str, Verdict]]:
    """Check all obligations; nothing is proved of a kernel that is not understood."""
    findings: list[Finding] = []
    verdicts: dict[str, Verdict] = {}
    obstacle = obstacle_of(setting)
    for name, obligation in CHECKS.items():
        found = [settled(setting, finding) for finding in obligation(setting)]
        findings += found
        verdict = combined(found)
        if isinstance(verdict, Proved) and obstacle is not None:
            verdict = obstacle
        verdicts[name] = verdict
    return findings, verdicts


ROUNDS = 4
"""How often a condition is strengthened that turns out not to be enough."""


def precondition_of(setting: Setting, findings: Sequence[Finding]) -> str | None:
    """Return a condition under which all obligations hold, or ``None``.

    It has been checked: under it everything is proved, and something is still stored.
    """
    broken = failing(findings)
    if not broken or obstacle_of(setting) is not None:
        return None
    chosen: list[Condition] = []
    for _ in range(ROUNDS):
        more = weakest(under(setting, chosen), broken)
        if more is None:
            return None
        chosen += more
        stronger = under(setting, chosen)
        if not is_possible(stronger):
            return None
        again = [f for check in CHECKS.values() for f in check(stronger)]
        broken = failing(again)
        if not broken:
            return spelled(chosen)
    return None


def settled(setting: Setting, finding: Finding) -> Finding:
    """Return a finding whose candidate, where it has one, has been run."""
    if not isinstance(finding.verdict, Unknown):
        return finding
    if finding.obligation == "coverage":
        return hole(setting, finding, finding.text.split()[3])
    if finding.verdict.reason != CANDIDATE:
        return finding
    order = ordering(setting, finding)
    if order:
        return replace(
            finding, verdict=Unknown(f"{order} may order the programs: not modelled")
        )
    return confirmed(setting, finding)


def obstacle_of(setting: Setting) -> Unknown | None:
    """Return why nothing can be proved, or ``None``."""
    program = setting.program
    if program.unsupported:
        first = program.unsupported[0]
        return Unknown(f"{first.construct} has no meaning here ({first.source})")
    stores = [a for a in program.accesses if a.kind != LOAD]
    if not stores:
        return Unknown("the kernel stores nothing: there is nothing to prove")
    for store in stores:
        if setting.ask((setting.reach(store),)) is not False:
            return None
    return Unknown("no program writes anything under these assumptions")


def setting_of(
    kernel: Any,
    args: Mapping[str, Argument],
    constexprs: Mapping[str, Any],
    grid: Sequence[int | str],
    assume: Sequence[str],
    function: str | None,
    limit: float,
    deadline: float,
) -> Setting:
    """Evaluate a kernel with what the caller says about it."""
    text = text_of(kernel, args, constexprs)
    module = read_module(text)
    entry = function_of(module, function)
    check_arguments(entry, args)
    assume = (*assume, *divisibility(entry, args))
    names, promised = solved(scalar_names(args, constexprs), assume)
    shared = {
        name: buffer.same_as
        for name, buffer in args.items()
        if isinstance(buffer, Buffer) and buffer.same_as is not None
    }
    numbers = programs_of(grid, names)
    program = evaluate(module, entry.name, shared, names)
    apart = {
        axis: digits(axis, weights, numbers[axis])
        for axis, weights in weights_of(program).items()
    }
    if apart:
        program = evaluate(module, entry.name, shared, names, apart)
    memories = {
        name: memory_of(name, buffer, names)
        for name, buffer in args.items()
        if isinstance(buffer, Buffer) and name not in shared
    }
    assumptions, texts = assumed(names, memories, assume)
    assumptions += promised
    return Setting(
        program,
        names,
        memories,
        assumptions,
        texts,
        numbers,
        limit,
        deadline,
        shared,
        floats=frozenset(
            name
            for name, buffer in args.items()
            if isinstance(buffer, Buffer) and dtype_name(buffer.dtype)[0] in "fb"
        ),
    )


def programs_of(
    grid: Sequence[int | str], names: Mapping[str, Term]
) -> dict[str, Term]:
    """Return the number of programs along each axis.

    Raises:
        ArgumentError: there are more than three, or one has no meaning.
    """
    if len(grid) > len(AXES):
        raise ArgumentError(
            f"needed at most 3 grid entries, got grid={tuple(grid)!r}",
            argument="grid",
            value=grid,
        )
    numbers: dict[str, Term] = dict.fromkeys(AXES, ONE)
    for axis, entry_text in zip(AXES, grid, strict=False):
        numbers[axis] = parse_expression(entry_text, names)
    return numbers


def divisibility(function: Function, args: Mapping[str, Argument]) -> list[str]:
    """Return what the launcher promises about scalars, as conditions."""
    found = []
    for parameter in function.arguments:
        divisor = parameter.attributes.get("tt.divisibility")
        name = parameter.name[1:]
        if isinstance(divisor, int) and isinstance(args.get(name), Scalar):
            found.append(f"{name} % {divisor} == 0")
    return found


def text_of(
    kernel: Any, args: Mapping[str, Argument], constexprs: Mapping[str, Any]
) -> str:
    """Return the TTIR text of a kernel.

    Raises:
        ArgumentError: it is neither a jit function nor a readable file.
    """
    if isinstance(kernel, Path) or (isinstance(kernel, str) and "\n" not in kernel):
        try:
            return Path(kernel).read_text()
        except OSError as error:
            raise ArgumentError(
                f"needed a path to TTIR text, got {str(kernel)!r}: {error.strerror}",
                argument="kernel",
                value=kernel,
            ) from None
    if isinstance(kernel, str):
        return kernel
    if not hasattr(kernel, "arg_names"):
        raise ArgumentError(
            "needed a @triton.jit function or a path to TTIR text, got "
            f"kernel={kernel!r}",
            argument="kernel",
            value=kernel,
        )
    from compiler.triton_api import ttir_text

    names = list(kernel.arg_names)
    constants = {name: value for name, value in constexprs.items() if name in names}
    missing = [n for n in names if n not in constants and n not in args]
    if missing:
        raise ArgumentError(
            f"needed a Buffer or Scalar in args, or a value in constexprs, for "
            f"{missing[0]!r}; got args={sorted(args)}, constexprs={sorted(constants)}",
            argument="args",
            value=args,
        )
    signature = {
        name: signature_of(args[name]) for name in names if name not in constants
    }
    try:
        return with_names(ttir_text(kernel, signature, constants), list(signature))
    except Exception as error:  # Triton's errors have no common root
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ArgumentError(
            f"{kernel.__name__} cannot be compiled with signature={signature} and "
            f"constexprs={constants}: {lines[-1].strip()}",
            argument="kernel",
            value=kernel,
        ) from error


def signature_of(argument: Argument) -> str:
    """Return an argument's type in Triton's spelling."""
    name = dtype_name(argument.dtype)
    return f"*{name}" if isinstance(argument, Buffer) else name


def check_arguments(function: Function, args: Mapping[str, Argument]) -> None:
    """Refuse arguments that do not fit the function's parameters.

    Raises:
        ArgumentError: a parameter has no argument, or one of another kind.
    """
    for parameter in function.arguments:
        name = parameter.name[1:]
        wanted = Buffer if isinstance(parameter.type, PointerType) else Scalar
        if not isinstance(args.get(name), wanted):
            raise ArgumentError(
                f"needed a {wanted.__name__} for parameter {name}: {parameter.type}, "
                f"got {args.get(name)!r}; parameters: "
                + ", ".join(a.name[1:] for a in function.arguments),
                argument="args",
                value=args,
            )


__all__ = ["Buffer", "Program", "Refuted", "Scalar", "check"]
