"""The documents that commands print: the JSON contract, `apiVersion: planner/v1alpha1`."""
