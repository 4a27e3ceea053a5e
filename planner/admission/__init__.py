"""What the API server would make of the pods that replace evicted ones."""
