"""Where the replacement of an evicted pod may land, and what restricts it to these nodes.

Both judges answer with a `Landing`: `single_landings` for one move when all earlier ones have ended,
`wave_landings` for the moves of a wave, wherever earlier replacements came to.  For the latter
`coupled_constraints` follows all counts that spread may reach and says how good they are, `room` says what
is free for certain, `replacements` asks all other filters and combines the three.  `tie_break_scenarios`
has every way in which ties of scores may have been broken.
"""
