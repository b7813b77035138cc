"""Obligations of a kernel and their proofs; see ``check``."""
