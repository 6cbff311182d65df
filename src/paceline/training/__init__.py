"""Keras 3's `fit`, `evaluate` and `predict` under the job's strategy.

How one training step works, on every replica at once::

    batch  = next(iterator)                 # the same global batch on every worker
    share  = take_share(batch, replica)     # this replica's rows
    with ReplicaStep(share):                # from here the hooks below are in force
        model.train_step(share)             # the person's own, or Keras'
            losses       -> corrected to the global batch's mean        (losses.py)
            assignments  -> noted, with the value before                (variables.py)
            metrics      -> scalars weighted by rows                    (metrics.py)
            results      -> noted, and read again after the reduction   (results.py)
            optimizer.apply(gradients)                                  (gradients.py)
                Keras' own train_step: put off until the step's end
                an own train_step: reduced and applied at once
    one reduction: gradients, moving statistics, metric sums, logs      (ending.py)
    optimizer.apply(reduced gradients)      # clip, accumulate, average: on the aggregate

Enters: a model, batches. Leaves: the same logs, weights and metrics on every worker.
May import: collectives, strategy, data, checkpoint, errors.
"""
