"""Faults of Keras and TensorFlow that paceline mends from outside: one file each.

A file says what is wrong, where it was reported, which versions have it and where it
is mended, and holds a witness: a small program on stock Keras that shows the fault.
`python -m paceline.repairs` lists them; a test runs every witness and fails once
upstream has mended one, so that ours can go.

Enters: versions. Leaves: a list. May import nothing of paceline but errors.
"""
