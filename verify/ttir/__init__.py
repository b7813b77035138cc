"""Lane-symbolic semantics of TTIR; see ``machine`` for the method.

``evaluate(read_module(text))`` runs a kernel once for all programs and lanes and gives
a ``Program``: its accesses to memory (pointer, mask, guard, lanes, iteration numbers,
value), its promises, and what has no meaning here.

- ``tensor``: a value is a function from coordinates to a term of ``verify.symbolic``.
- ``machine``: the walk; ``operations`` is the table of handlers, which live in
  ``elementwise`` (over ``arithmetic``), ``views``, ``memory``, ``reductions`` and
  ``control`` (over ``loops``); ``hints`` reads alignment hints.
- ``program``: what is found.

Semantics. Integers are unbounded; each machine result is a ``fit``, a promise that it
is in its type's range, which is an obligation where the result reaches an address or a
mask. A pointer is a buffer and an offset in elements. A load is an uninterpreted read,
or the default where its mask is off, or poison without one. Floats are opaque values
that remember how they were made. A loop is one iteration with a symbolic number.
What has no meaning is an opaque value that names its operation; where it may touch
memory, it stands in ``Program.unsupported``. Neither is ever a pass.

Independent of ``compiler``: an import contract.
"""

from .machine import evaluate, function_of
from .program import Access, Claim, LoopRecord, Program, Unsupported

__all__ = [
    "Access",
    "Claim",
    "LoopRecord",
    "Program",
    "Unsupported",
    "evaluate",
    "function_of",
]
