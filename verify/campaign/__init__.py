"""Long runs of drawn programs against a compiler, and what they find."""
