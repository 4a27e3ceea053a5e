"""Pods packed by what they request: what is tried, and what it is worth.

Each was switched off alone, with 6.5 units of work and no clock, on the cases of
`tests/data/batch/packing.jsonl.gz`: `Filling` on all 65, the others on as many as are named, chosen by how
long they take. The figures are those with everything, then those without the strategy.

| strategy | used in `solve --allow-moves` | worth |
|---|---|---|
| `Filling` | rounds, for pods that are still open | 65 cases: 6,085 pods, 58 proved; 6,077, 53 without |
| `Covers` | rounds, after `Insertion.climb` | 18 cases: 18 proved, 48 moves; 16, 49 without (**) |
| `Insertion.climb` | rounds, after `Filling` | 6 cases with full nodes: 378 pods, 377 without (*) |
| `Insertion.at_once` | before `NeighbourhoodSearch` looks for fewer moves | 8 cases: 81 moves, 93 without |
| `kept_on_current_node` | what `Filling` found | 8 cases with full nodes: 198 moves, 258 without |

(*) Without `climb` and `kept_on_current_node` together, 12 cases with full nodes: 1,075 pods with both, 1,072
without; 290 moves, 369 without.

(**) When they came first. With 10 seconds of the processor 65 cases have the same pods and proofs in both
orders, and take 211 seconds, 237 with `Covers` first. Without them 27 of 30 are proved now, 30 with them.

`Insertion.at_once` in the rounds, before all else, was worth nothing: 90 runs had the same pods, moves and
proofs without it, as `Filling` and `climb` find what it found.

Where requests have no common unit, covers do not decide and the exact model is asked. A model of requests
alone in its place was no better: 42 packings of 16 to 32 pods in odd bytes have 1,066 pods with either, 40
proved with the exact model and 39 with the other.

Column generation was tried for all of it: patterns priced by a knapsack, a linear program for the prices,
and a model over the columns. In 6 to 13 seconds it placed 61 of 64 pods where all fit
(16x4-p1-u0.95), and 115 of 128 where 127 are found here (32x4-p1-u1.0).
"""
