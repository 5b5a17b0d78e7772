"""The paper's experiments: settings, run and analysis, apart from the algorithm; one file each."""
