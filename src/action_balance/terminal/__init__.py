"""Output on the terminal: the console, progress bars and the progress of a training run."""
