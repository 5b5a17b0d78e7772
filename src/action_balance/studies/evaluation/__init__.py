"""Evaluation of a run: scores, figures, films."""
