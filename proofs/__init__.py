"""The catalogue of theorems, each checked by a machine."""
