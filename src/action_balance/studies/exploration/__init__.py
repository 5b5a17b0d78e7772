"""Which exploration method solves hard-exploration tasks, and what action balance adds to RND."""

KIND = "reproduce exploration"
