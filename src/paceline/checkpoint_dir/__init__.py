"""The form of a checkpoint directory: names, manifests, and whether what lies there is whole.

Enters: a path. Leaves: what is complete there, unfinished or damaged, and what retention would remove.
May import: ``errors``. Starts without TensorFlow or NumPy: the command line reads checkpoints with it;
``checkpoint`` writes them.
"""
