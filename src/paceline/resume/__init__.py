"""What is in a checkpoint of a running `fit`, and how training comes back from it, bit for bit.

A script that is started again runs from its top, with the same seed. Its fits are numbered as they begin::

    fit that had ended        its end is taken from the checkpoint directory          fits.py
    fit that was interrupted  files of callbacks are cut back                         logs.py
                              on_train_begin; on_epoch_begin of the same epoch
                              attributes of callbacks                                 callback_states.py
                              the position in the data                                position.py, pipelines.py
                              before the first step: variables, random states         variables.py, randoms.py
    later fits                as always

A checkpoint is taken between two groups of steps, after the callbacks of the last one, on all workers alike
(`keeper.py` decides when, `interval.py` how often). It is never taken anywhere else: the end of an epoch is the place
before the first step of the next one.

Enters: what `job.json` says about checkpoints. Leaves: hooks on Keras; checkpoints. May import: collectives, strategy,
data, checkpoint, training, callbacks, journal, worker, errors.
"""
