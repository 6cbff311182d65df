"""Files that the job writes: one worker writes, the others wait until it can be read; and the store of checkpoints.

Enters: calls of `model.save` and its like on every worker; arrays and what belongs to them (`store`, `background`).
Leaves: one file; a checkpoint directory, whose form `checkpoint_dir` owns. May import: collectives, strategy, data,
checkpoint_dir, journal, errors. `store` and what it imports need NumPy, but TensorFlow only for object stores.
"""
