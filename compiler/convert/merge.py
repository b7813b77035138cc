"""Selections that follow each other, as one."""

from collections.abc import Sequence

from .steps import Select, Step


def merge(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Compose selections that follow each other.

    Law: the steps do the same; no two selections are neighbours.

    Args:
        steps: Steps of a plan.
    """
    merged: list[Step] = []
    for step in steps:
        new = step
        if isinstance(new, Select) and merged and isinstance(merged[-1], Select):
            new = Select(new.source.compose(merged[-1].source))
            merged.pop()
        merged.append(new)
    return tuple(merged)
