"""How close permutations come to a copy: ours, eager PyTorch's and torch.compile's.

Each named map is a permutation of axes, so PyTorch can do it too, as ``.contiguous()``
of a permuted view. All are timed in turn on the same data, after their results were
compared; the fraction is the time of a copy of the same size over theirs.
"""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

DTYPES = {"int8": 1, "float16": 2, "float32": 4, "int64": 8}
"""Name of a torch dtype -> size of an element [bytes]."""
LEAST_BITS = 20
TENSORS = 4
"""Source, target, what is wanted, and a result: all are there at the same time."""
Action = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One map and type.

    Attributes:
        name: Of the map.
        dtype: Of the elements.
        fractions: Who -> fraction of the speed of a copy; None where it wasn't run.
        right: Whether all results were the same.
    """

    name: str
    dtype: str
    fractions: dict[str, float | None]
    right: bool

    def facts(self) -> dict[str, Any]:
        """Return the row for JSON."""
        return {
            "map": self.name,
            "dtype": self.dtype,
            "fraction_of_copy": self.fractions,
            "right": self.right,
        }


def named_maps(bits: int) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return name -> shape and axes of maps of ``2**bits`` elements.

    Example:
        >>> named_maps(20)["transpose"]
        ((1024, 1024), (1, 0))
    """
    side = bits // 2
    zipped = [axis for i in range(side) for axis in (i, side + i)]
    every = (2,) * bits
    return {
        "transpose": ((1 << side, 1 << bits - side), (1, 0)),
        "nchw to nhwc": ((1 << bits - 18, 64, 1 << 12), (0, 2, 1)),
        "nc/32hw32": ((1 << bits - 17, 32, 64, 64), (0, 2, 3, 1)),
        "block scales": ((1 << bits - 19, 4, 32, 1 << 10, 4), (0, 3, 2, 1, 4)),
        "bit reversal": (every, tuple(reversed(range(bits)))),
        "morton": (every, (*zipped, *range(2 * side, bits))),
    }


def most_bits(dtypes: Sequence[str], memory: int) -> int:
    """Return log2 of the most elements whose survey fits into memory.

    Args:
        dtypes: Names among ``DTYPES``.
        memory: What the device has, more than nothing [bytes].

    Example:
        >>> most_bits(["int8", "float32"], 1 << 30)
        26
    """
    width = max(DTYPES[name] for name in dtypes)
    return (memory // (TENSORS * width)).bit_length() - 1


def memory_of(device: str) -> int:
    """Return the memory of ``"cpu"`` or of the current ``"cuda"`` device [bytes]."""
    if device == "cuda":
        import torch

        return torch.cuda.get_device_properties().total_memory
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def survey(
    bits: int,
    device: str,
    dtypes: Sequence[str],
    *,
    rounds: int = 7,
    compiled: bool = True,
    begin: Callable[[str], None] = lambda _: None,
) -> list[Row]:
    """Measure every named map on a device.

    Args:
        bits: Log2 of the elements of a tensor, 20 at least [bits].
        device: ``"cpu"`` or ``"cuda"``.
        dtypes: Names among ``DTYPES``.
        rounds: Measurements of each.
        compiled: Whether torch.compile is measured too.
        begin: Called with the name of each row before it is measured.
    """
    import torch

    from compiler import permutations, permute

    rows = []
    for dtype in dtypes:
        size = DTYPES[dtype] << bits
        data = torch.randint(0, 256, (size,), dtype=torch.uint8, device=device)
        source = data.view(getattr(torch, dtype))
        target = torch.empty_like(source)
        for name, (shape, axes) in named_maps(bits).items():
            begin(f"{name}, {dtype}")
            layout = permutations.permute_axes(shape, axes)
            view = source.view(*shape).permute(*axes)
            actions: dict[str, Action] = {
                "copy": _copy(target, source),
                "tilewright": _permute(permute, source, layout),
                "eager": view.contiguous,
            }
            if compiled:
                torch.compiler.reset()
                made = torch.compile(_contiguous, dynamic=False)
                actions["torch.compile"] = _call(made, view)
            wanted = view.contiguous().view(-1)
            right = all(
                torch.equal(act().view(-1).view(torch.uint8), wanted.view(torch.uint8))
                for who, act in actions.items()
                if who != "copy"
            )
            spans = in_turn(actions, rounds, device)
            fractions: dict[str, float | None] = {
                who: round(spans["copy"] / spans[who], 4) if who in spans else None
                for who in ("tilewright", "eager", "torch.compile")
            }
            rows.append(Row(name, dtype, fractions, right))
    return rows


def in_turn(actions: dict[str, Action], rounds: int, device: str) -> dict[str, float]:
    """Return the time of each action, run one after the other [seconds].

    On a GPU it is the median; on a CPU, which others use too, the least.
    """
    import torch

    spans: dict[str, list[float]] = {who: [] for who in actions}
    for round_number in range(rounds + 1):
        for who, act in actions.items():
            if device == "cuda":
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record()
                act()
                end.record()
                torch.cuda.synchronize()
                span = start.elapsed_time(end) / 1000
            else:
                began = time.perf_counter()
                act()
                span = time.perf_counter() - began
            if round_number:  # the first one only warms up
                spans[who].append(span)
    chosen = statistics.median if device == "cuda" else min
    return {who: chosen(found) for who, found in spans.items()}


def table(rows: Sequence[Row]) -> str:
    """Return the rows as text, with geometric means below."""
    people = ("tilewright", "eager", "torch.compile")
    lines = [f"{'map':14} {'dtype':8} " + " ".join(f"{who:>13}" for who in people)]
    for row in rows:
        cells = [row.fractions[who] for who in people]
        shown = " ".join("            -" if c is None else f"{c:13.2f}" for c in cells)
        wrong = "" if row.right else "  WRONG"
        lines.append(f"{row.name:14} {row.dtype:8} {shown}{wrong}")
    for dtype in dict.fromkeys(row.dtype for row in rows):
        means = []
        for who in people:
            found = [row.fractions[who] for row in rows if row.dtype == dtype]
            known = [value for value in found if value is not None]
            mean = statistics.geometric_mean(known) if known else None
            means.append("            -" if mean is None else f"{mean:13.2f}")
        lines.append(f"{'geomean':14} {dtype:8} {' '.join(means)}")
    lines.append("fraction of the speed of a copy of the same size")
    return "\n".join(lines)


def draw(rows: Sequence[Row], path: str, title: str) -> None:
    """Write a bar chart: a panel for each type, a group for each map."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    dtypes = list(dict.fromkeys(row.dtype for row in rows))
    people = ("tilewright", "eager", "torch.compile")
    figure, panels = pyplot.subplots(
        len(dtypes), 1, figsize=(9, 2.6 * len(dtypes)), squeeze=False, sharex=True
    )
    for panel, dtype in zip(panels[:, 0], dtypes, strict=True):
        own = [row for row in rows if row.dtype == dtype]
        for offset, who in enumerate(people):
            heights = [row.fractions[who] or 0.0 for row in own]
            places = [index + 0.27 * (offset - 1) for index in range(len(own))]
            panel.bar(places, heights, width=0.25, label=who)
        panel.axhline(1.0, color="black", linewidth=0.8)
        panel.set_ylabel(f"{dtype}: fraction of copy")
        panel.set_xticks(range(len(own)), [row.name for row in own], rotation=20)
    panels[0, 0].legend(loc="lower right", fontsize="small")
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)


def _copy(target: Any, source: Any) -> Action:
    return lambda: target.copy_(source)


def _permute(permute: Callable[..., Any], source: Any, layout: Any) -> Action:
    return lambda: permute(source, layout)


def _call(function: Callable[..., Any], argument: Any) -> Action:
    return lambda: function(argument)


def _contiguous(view: Any) -> Any:
    return view.contiguous()
