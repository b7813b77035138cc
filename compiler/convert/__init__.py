"""Layout conversions inside a kernel: how far elements move, and a plan for it."""

from .classify import Conversion, Move, Movement, classify
from .explain import explain
from .gather import Gather, plan_gather
from .plan import Plan, plan, plans
from .reduction import Reduction, plan_reduction
from .steps import Barrier, Load, Registers, Select, Shuffle, Step, Store

__all__ = [
    "Barrier",
    "Conversion",
    "Gather",
    "Load",
    "Move",
    "Movement",
    "Plan",
    "Reduction",
    "Registers",
    "Select",
    "Shuffle",
    "Step",
    "Store",
    "classify",
    "explain",
    "plan",
    "plan_gather",
    "plan_reduction",
    "plans",
]
