"""Keras callbacks on several workers: they decide alike, and one worker writes.

Enters: the callbacks of a script, as they are. Leaves: the same decisions on every
worker. May import: collectives, strategy, data, checkpoint, training, errors.
"""
