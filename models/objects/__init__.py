"""Kubernetes objects as pydantic models: every kind that decides on placement."""
