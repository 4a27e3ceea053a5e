"""What kube-scheduler, controllers and evictions lead to, played step by step."""
