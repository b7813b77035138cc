"""Building, caching and loading of generated code."""
