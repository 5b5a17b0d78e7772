"""Environments compiled together with the agent."""
