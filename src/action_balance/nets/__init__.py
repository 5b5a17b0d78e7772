"""Who owns parameters: layers, bonus networks, the actor-critic."""
