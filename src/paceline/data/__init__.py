"""Which rows of a global batch a replica works on, and what becomes of datasets' cache files.

Enters: batches as the script's own pipeline makes them, the same on every worker.
Leaves: each replica's rows. May import: collectives, strategy, errors.
"""
