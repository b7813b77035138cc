"""Planning and code generation: conversions, permutations, fused kernels."""
