"""The choice of form, tile and warps for a kernel on a GPU."""

from compiler.ir.index import constant_value
from compiler.ir.kernel import Kernel

from .flat import flattened, without_points
from .pointwise_plan import plan_pointwise
from .product_plan import plan_product
from .reduction_plan import plan_reduction
from .tile import Plan


def plan(kernel: Kernel, *, invariant: bool = False) -> Plan:
    """Return the plan of a kernel.

    Sizes that are not constants count as large.

    Args:
        kernel: What the scheduler made.
        invariant: Choose the tile of a reduction by its reduced axes alone, so that
            the bits of a result do not depend on how many others there are.
    """
    kernel = flattened(kernel)
    if kernel.product is not None:
        return plan_product(kernel)
    if not kernel.inner:
        return plan_pointwise(kernel)
    if any(constant_value(axis.extent) == 0 for axis in kernel.inner):
        kernel = without_points(kernel)
    return plan_reduction(kernel, invariant)
