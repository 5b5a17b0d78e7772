"""The grid study: coverage, goals and the corridor, with the tabular agent."""

KIND = "reproduce grid"
