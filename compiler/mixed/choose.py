"""Which tiling a problem gets, and which ones are worth timing."""

from dataclasses import replace

from algebra.bits import is_power_of_two
from algebra.errors import DimMismatchError
from compiler.mixed.fragments import unit_depth
from compiler.mixed.tiling import Problem, Tiling

MULTIPROCESSORS = 132
"""Of an H100 or H200 in its SXM module."""

MOST_KEPT = 4096
"""Input features whose activations 16 warps keep beside two tiles of weights."""

FEW_TURNS = 3
"""Tiles of a multiprocessor from which on it pays to keep the activations."""

MOST_AT_ONCE = 8
"""Tiles of a multiprocessor whose sums stay in registers."""

PROGRAMS = 256
"""Programs that fill a large GPU about twice."""

WGMMA_ARCH = 90
"""Compute capability, times ten, of the GPUs that have wgmma."""

AHEAD = ((32, False), (64, False), (32, True), (64, True), (128, True))
"""Rows of activations that are loaded ahead, and whether weights are copied."""


def fit_depth(problem: Problem, wanted: int = 128) -> int:
    """Return the largest depth up to ``wanted`` that fits.

    Raises:
        DimMismatchError: None fits.
    """
    depth = wanted
    while depth >= 32:
        try:
            Tiling(rows=8, depth=depth).check(problem)
        except DimMismatchError:
            depth //= 2
        else:
            return depth
    raise DimMismatchError(
        f"no depth from 32 to {wanted} fits k={problem.k}, group={problem.group}; pad "
        "the input features",
        k=problem.k,
        group=problem.group,
    )


def strip_rows(m: int) -> int:
    """Return the rows of activations that one program takes."""
    return next((rows for rows in (8, 16, 32) if m <= rows), 64)


def default_tiling(problem: Problem, m: int, *, arch: int = WGMMA_ARCH) -> Tiling:
    """Return a tiling for ``m`` rows of activations.

    Few rows: warps along the input features and no splits, so that the weights are
    read once and all at once; if there are several tiles for a multiprocessor, it keeps
    the activations of up to 8 rows. Many rows: warps along the output features share
    the activations, by wgmma where the GPU has it, and splits fill the GPU.

    Args:
        problem: What is computed.
        m: Rows of activations.
        arch: Compute capability of the GPU times ten.
    """
    rows = strip_rows(m)
    depth = fit_depth(problem)
    if rows == 8:
        return _kept(problem) or Tiling(rows=8, row_tiles=1, warps_k=8, depth=depth)
    if rows == 16:
        return Tiling(rows=16, row_tiles=2, warps_k=8, depth=depth)
    one = Tiling(
        rows=rows,
        row_tiles=2 if rows == 32 else 1,
        warps_k=1,
        warps_n=4,
        depth=depth,
        stages=2,
    )
    if arch == WGMMA_ARCH:
        one = Tiling(
            rows=rows,
            warps_k=1,
            warps_n=8 if rows == 64 else 4,
            depth=_wgmma_depth(problem, depth),
            stages=2,
            wgmma=True,
        )
        return replace(one, splits=_splits(problem, one, m, MULTIPROCESSORS))
    return replace(one, splits=_splits(problem, one, m, PROGRAMS))


def _wgmma_depth(problem: Problem, depth: int) -> int:
    """Return the depth of a step whose words and scales leave room in registers."""
    many = problem.format.bits > 4 or problem.group < depth or problem.zeros
    return depth // 2 if many and depth > 64 else depth


def _splits(problem: Problem, tiling: Tiling, m: int, programs: int) -> int:
    """Return the splits with which so many programs multiply ``m`` rows."""
    strips = -(-m // tiling.rows)
    return max(1, programs // (tiling.tiles(problem) * strips))


def candidates(
    problem: Problem, m: int, multiprocessors: int = MULTIPROCESSORS
) -> list[Tiling]:
    """Return tilings worth timing on an H100 or H200, the default one first.

    Args:
        problem: What is computed.
        m: Rows of activations.
        multiprocessors: Of the GPU.
    """
    rows, depth = strip_rows(m), fit_depth(problem)
    deep = fit_depth(problem, 256)
    found = [default_tiling(problem, m)]
    if rows <= 16:
        for row_tiles, warps_k, step, stages in (
            (1, 4, depth, 4),
            (1, 4, depth, 8),
            (1, 8, depth, 4),
            (1, 8, deep, 2),
            (1, 16, depth, 2),
            (2, 8, depth, 4),
            (2, 16, depth, 2),
            (4, 8, depth, 4),
            (4, 16, depth, 2),
        ):
            # in registers, or copied, which leaves registers to activations: those
            # are on a program's way once it may read them
            for ahead, copied in AHEAD:
                found.append(
                    Tiling(
                        rows=rows,
                        row_tiles=row_tiles,
                        warps_k=warps_k,
                        depth=step,
                        stages=stages,
                        ahead=ahead,
                        copied=copied,
                    )
                )
        found += _keeping(problem, rows, multiprocessors)
    else:
        for strip, row_tiles, warps_n, warps_k, splits in (
            (rows, 1, 4, 1, 1),
            (rows, 1, 4, 1, 2),
            (rows, 1, 4, 1, 4),
            (rows, 1, 4, 1, 8),
            (rows, 1, 4, 2, 2),
            (rows, 1, 4, 2, 4),
            (rows, 1, 8, 1, 4),
            (32, 2, 4, 1, 2),
            (32, 2, 4, 1, 4),
            (32, 1, 4, 2, 2),
        ):
            found.append(
                Tiling(
                    rows=strip,
                    row_tiles=row_tiles,
                    warps_n=warps_n,
                    warps_k=warps_k,
                    depth=depth,
                    stages=2,
                    splits=splits,
                )
            )
        room = _wgmma_depth(problem, depth)
        found += [
            Tiling(
                rows=strip,
                warps_k=1,
                warps_n=warps_n,
                depth=step,
                stages=2,
                splits=splits,
                wgmma=True,
            )
            for strip, warps_n in ((32, 4), (rows, 8))
            for step in sorted({max(32, room // 2), room})
            for splits in (1, 2, 4)
        ]
    fitting = []
    for tiling in dict.fromkeys(found):
        try:
            tiling.check(problem)
        except DimMismatchError:
            continue
        if tiling.splits * tiling.warps_k * tiling.depth <= problem.k:
            fitting.append(tiling)
    return fitting


def _kept(problem: Problem) -> Tiling | None:
    """Return the tiling that keeps up to 8 rows of activations where that pays."""
    turns = problem.row_tiles / MULTIPROCESSORS
    few = FEW_TURNS <= turns <= MOST_AT_ONCE and problem.k <= MOST_KEPT
    if problem.format.bits != 4 or not few:
        return None
    return next(
        (t for t in _keeping(problem, 8, MULTIPROCESSORS) if t.warps == 16), None
    )


def _keeping(problem: Problem, rows: int, multiprocessors: int) -> list[Tiling]:
    """Return tilings whose programs keep their activations."""
    found = []
    unit = unit_depth(problem.format.bits)
    for warps_k in (8, 16):
        depth = problem.k // warps_k
        if depth * warps_k != problem.k or not is_power_of_two(depth) or depth < unit:
            continue
        found += [
            Tiling(
                rows=rows,
                warps_k=warps_k,
                depth=depth,
                stages=stages,
                programs=multiprocessors,
            )
            for stages in ((1, 2) if rows == 8 else (1,))
        ]
    return found
