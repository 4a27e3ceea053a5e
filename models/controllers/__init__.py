"""What controllers and admission add to a snapshot: replicas that are missing, owners, defaults."""
