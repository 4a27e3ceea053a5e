"""What the API server does to a pod that is created: it fills in, adds, and refuses."""
