"""Index formulas as they stood before linear layouts, independent of ``algebra``."""
