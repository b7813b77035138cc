"""The devices that plans are made for, and what their instructions take.

Costs are the cycles that a streaming multiprocessor is busy with one instruction of
one warp while all others are busy too. Latencies are what a warp waits for besides,
while there is nothing else to do.
``origin`` says where a number comes from: ``"documented"`` (throughput
table of the CUDA programming guide), ``"assumed"`` (a reasoned default until measured),
or the name of the result file that a committed script wrote.
"""

from dataclasses import dataclass

from algebra.errors import UnsupportedLayoutError

KIB = 1024
STATIC_BYTES = 48 * KIB
"""Shared memory that a block of PTX may declare, and that a kernel has without asking
for more [bytes]."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A cost and where it comes from.

    Attributes:
        cycles: Cycles of a multiprocessor [cycles for one instruction of a warp].
        origin: ``"documented"``, ``"assumed"`` or a result file.
    """

    cycles: float
    origin: str


@dataclass(frozen=True, slots=True)
class Device:
    """A target.

    Attributes:
        name: ``"sm_90"`` and the like.
        lane_bits: Log2 of the lanes of a warp.
        banks: 32-bit banks of shared memory.
        shared_bytes: Shared memory that a block may have [bytes].
        conversion_bytes: Shared memory that a conversion takes before it rather
            repeats [bytes].
        loads_matrices: Whether ``ldmatrix`` exists.
        stores_matrices: Whether ``stmatrix`` exists.
        costs: Instruction class -> cost.
        latencies: Kind of wait -> latency.
    """

    name: str
    lane_bits: int
    banks: int
    shared_bytes: int
    conversion_bytes: int
    loads_matrices: bool
    stores_matrices: bool
    costs: tuple[tuple[str, Constant], ...]
    latencies: tuple[tuple[str, Constant], ...]

    def cycles(self, kind: str) -> float:
        """Return the cost of an instruction class [cycles]."""
        return dict(self.costs)[kind].cycles

    def latency(self, kind: str) -> float:
        """Return how long a warp waits at least [cycles]."""
        return dict(self.latencies)[kind].cycles


_MEASURED = "device_costs.json"
_HOPPER = (
    ("shfl", Constant(1.0, _MEASURED)),
    ("prmt", Constant(0.5, _MEASURED)),
    ("selp", Constant(0.5, _MEASURED)),
    ("alu", Constant(0.5, _MEASURED)),
    ("st.shared", Constant(0.0, _MEASURED)),
    ("ld.shared", Constant(0.0, _MEASURED)),
    ("stmatrix", Constant(0.0, _MEASURED)),
    ("ldmatrix", Constant(0.0, _MEASURED)),
    ("wavefronts", Constant(1.0, _MEASURED)),
    ("bar.warp", Constant(0.0, _MEASURED)),
    ("bar.sync", Constant(1.1, _MEASURED)),
    ("bar.cluster", Constant(64.0, "assumed")),
)
# alone, four warps: of a chain of shuffles; of a round of store and load less its
# wavefronts; of a barrier less its cost
_LATENCIES = (
    ("shfl", Constant(24.0, _MEASURED)),
    ("pass", Constant(29.0, _MEASURED)),
    ("bar.warp", Constant(0.0, _MEASURED)),
    ("bar.sync", Constant(15.0, _MEASURED)),
    ("bar.cluster", Constant(200.0, "assumed")),
)
_AMD = (
    # ds_bpermute goes through the crossbar of the local data share
    ("shfl", Constant(2.0, "assumed")),
    *_HOPPER[1:],
)

DEVICES = {
    device.name: device
    for device in (
        Device("sm_80", 5, 32, 163 * KIB, 32 * KIB, True, False, _HOPPER, _LATENCIES),
        Device("sm_90", 5, 32, 227 * KIB, 32 * KIB, True, True, _HOPPER, _LATENCIES),
        Device("sm_100", 5, 32, 227 * KIB, 32 * KIB, True, True, _HOPPER, _LATENCIES),
        Device("gfx942", 6, 32, 64 * KIB, 32 * KIB, False, False, _AMD, _LATENCIES),
    )
}
"""Target name -> device."""


def device(name: str) -> Device:
    """Return the device of a name.

    Raises:
        UnsupportedLayoutError: there is none of that name.

    Example:
        >>> device("sm_90").shared_bytes
        232448
    """
    if name not in DEVICES:
        raise UnsupportedLayoutError(
            f"target must be one of {list(DEVICES)}, got target={name!r}",
            target=name,
        )
    return DEVICES[name]
