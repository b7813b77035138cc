"""Layout conversions inside a kernel: how far elements move, and a plan for it."""

from .classify import Conversion, Move, Movement, classify
from .explain import explain
from .plan import Plan, plan, plans
from .steps import Barrier, Load, Registers, Select, Shuffle, Step, Store

__all__ = [
    "Barrier",
    "Conversion",
    "Load",
    "Move",
    "Movement",
    "Plan",
    "Registers",
    "Select",
    "Shuffle",
    "Step",
    "Store",
    "classify",
    "explain",
    "plan",
    "plans",
]
