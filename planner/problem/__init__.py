"""A Cluster compiled for the engines: nodes as columns, pods as templates, requests as integers."""
