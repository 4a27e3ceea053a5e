"""Documents as shell scripts: the plan as a person reads it, and under it the lines that carry it out.

The lines are files of their own beside this one, put together by `frame.script`.
"""
