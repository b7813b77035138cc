"""Checks by solver, by execution and by search; see ``algebra.verdict``."""
