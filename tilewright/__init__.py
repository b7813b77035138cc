"""The front door: the command line and the public table of contents."""
