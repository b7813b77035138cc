"""Let an installed Triton infer the encodings of random operations; run as a script.

Arguments: seed, count. One JSON object a line: the operation, the types of source and
result as Triton prints them, and the argument. Runs in its own process because Triton
aborts on some inputs.
"""

import json
import math
import random
import sys
from typing import Any

from triton_attributes import layouts


def new_shape(rng: random.Random, size: int) -> list[int]:
    """Return 1 to 4 powers of two with product ``size``."""
    left = size.bit_length() - 1
    shape = []
    for _ in range(rng.randint(0, 3)):
        bits = rng.randint(0, left)
        shape.append(1 << bits)
        left -= bits
    shape.append(1 << left)
    rng.shuffle(shape)
    return shape


def main(seed: int, count: int) -> None:
    """Print the inferences for ``count`` operations."""
    import triton
    from triton._C.libtriton import gluon_ir, ir
    from triton.experimental.gluon.language import _layouts as gl
    from triton.experimental.gluon.language.amd import _layouts as amd

    context = ir.context()
    ir.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    builder.set_loc("", 1, 1)
    module = builder.create_module()
    signature = builder.get_function_ty([], [])
    function = builder.get_or_insert_function(module, "f", signature, "public", False)
    module.push_back(function)
    builder.set_insertion_point_to_start(function.add_entry_block())
    new = tuple(map(int, triton.__version__.split(".")[:2])) > (3, 6)
    rng = random.Random(seed)
    f32, i8, f16 = builder.get_float_ty(), builder.get_int8_ty(), builder.get_half_ty()
    printed = 0
    while printed < count:
        family, layout, shape = layouts(rng, gl, amd, new)
        attribute = layout._to_ir(builder)
        rank = len(shape)
        argument: Any = None
        if family == "memdesc":
            argument = rng.sample(range(rank), rank)
            try:
                kind = builder.get_shared_mem_desc_ty(f16, shape, attribute, shape)
                value = builder.create_local_alloc(kind)
                result = builder.create_memdesc_trans(value, argument)
            except RuntimeError:
                continue
            operation = "trans"
        else:
            operation = rng.choice(["trans", "reshape", "join", "split", "fp4_to_fp"])
            if isinstance(layout, gl.SliceLayout) and rng.random() < 0.3:
                operation = "expand_dims"
            clusters = "CGALayout" in str(
                builder.get_distributed_ty(f32, shape, attribute)
            )
            if operation == "split" and clusters:
                continue  # releases before 3.8 abort on the split of a cluster
            element = i8 if operation == "fp4_to_fp" else f32
            value = builder.create_poison(
                builder.get_distributed_ty(element, shape, attribute)
            )
            if operation == "trans":
                argument = rng.sample(range(rank), rank)
                result = builder.create_trans(value, argument)
            elif operation == "reshape":
                argument = new_shape(rng, math.prod(shape))
                result = builder.create_reshape(value, argument, False)
            elif operation == "join":
                result = builder.create_join(value, value)
            elif operation == "split":
                value = builder.create_join(value, value)
                result = ir.builder.create_split(builder, value)[0]
            elif operation == "expand_dims":
                argument = layout.dim
                result = builder.create_expand_dims(value, argument)
            else:
                argument = rng.randrange(rank)
                result = builder.create_fp4_to_fp(value, f16, argument)
        inference = {
            "operation": operation,
            "argument": argument,
            "source": str(value.get_type()),
            "result": str(result.get_type()),
        }
        print(json.dumps(inference), flush=True)
        printed += 1


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
