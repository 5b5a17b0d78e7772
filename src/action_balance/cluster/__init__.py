"""Training runs as tasks of a Ray cluster: retried from their checkpoints wherever they are lost.

`driver` trains jobs, `worker` is what a task does. Ray is imported only by functions that use it.
"""
