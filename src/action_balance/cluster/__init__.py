"""Training runs as tasks of a Ray cluster: retried from their checkpoints wherever they are lost.

`action_balance.cluster.driver` trains jobs, `worker` is what a task does, and both talk to `home`. Ray is imported only
by functions that use it.
"""
