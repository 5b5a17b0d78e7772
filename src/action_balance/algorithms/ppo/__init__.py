"""Proximal policy optimisation of the behaviour policy, with two reward streams."""
