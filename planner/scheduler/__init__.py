"""The reference scheduler: kube-scheduler's decisions, one pod at a time, and orders that it accepts."""
