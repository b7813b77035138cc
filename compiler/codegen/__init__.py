"""Printers of kernels, one folder a target language."""
