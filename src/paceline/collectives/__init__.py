"""How tensors travel between workers: sum, gather rows, broadcast, meet.

Enters: a transport name and this worker's place among the others. Leaves: one
`Transport` object that every other hot room uses. May import: errors, tuning.
"""
