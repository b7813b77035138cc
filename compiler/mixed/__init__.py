"""Mixed precision: matmuls whose weights are narrower than their activations."""
