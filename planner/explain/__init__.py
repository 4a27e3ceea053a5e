"""Why pods are pending, and the smallest changes that help, each one tried out.

Everything is judged where the cluster comes to rest: after every pending pod was tried. A fix is
what gives the pod a node there, with every pod ahead of it in the queue tried once more.
"""
