"""The agent of the grid study: counts and tables instead of networks."""
