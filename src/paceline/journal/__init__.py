"""One append-only stream of events and one live status page per worker; reading and merging them.

Enters: what happens in a worker. Leaves: ``journal.jsonl`` and ``status`` in the worker's folder of the
run directory, and, for readers, events of all workers in the order of time.
May import: ``errors``. Starts without TensorFlow or NumPy.
"""
