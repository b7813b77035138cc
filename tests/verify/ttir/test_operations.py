from verify.ttir.operations import handler_of, supported


def test_the_table_has_the_operations_that_kernels_use() -> None:
    needed = {
        "tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.addptr",
        "tt.make_range", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape",
        "tt.trans", "tt.join", "tt.split", "tt.cat", "tt.gather", "tt.histogram",
        "tt.reduce", "tt.scan", "tt.dot", "scf.for", "scf.while", "scf.if", "tt.call",
        "tt.make_tensor_ptr", "tt.advance", "tt.make_tensor_descriptor",
        "tt.descriptor_load", "tt.descriptor_store", "tt.elementwise_inline_asm",
    }  # fmt: skip
    assert needed <= set(supported())


def test_arith_and_math_are_elementwise_and_others_are_unknown() -> None:
    assert handler_of("arith.addi") is handler_of("math.exp") is not None
    assert handler_of("ttng.tensormap_create") is None
