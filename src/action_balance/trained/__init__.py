"""Agents that were trained: loaded from a run or a file, used from Python, and saved as one file."""
