"""The runner of Kubernetes clusters: one JobSet for each attempt, or one Job where there are no JobSets."""
