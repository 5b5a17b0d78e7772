"""Networks: layers, bonus networks and the actor-critic, for vectors and for images."""
