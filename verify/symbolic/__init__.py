"""Integers, truth values and opaque values as shared terms, and questions to z3."""
