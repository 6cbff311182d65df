"""Files that the job writes: one worker writes, the others wait until it can be read.

Enters: calls of `model.save` and its like on every worker. Leaves: one file. May import:
collectives, strategy, data, journal, errors.
"""
