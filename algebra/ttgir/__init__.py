"""The spelling that Triton prints in TTGIR, read and written."""
