"""What ``paceline tune`` measures, how it chooses, and where it keeps the choice for later runs.

Enters: times of sums over workers. Leaves: a ``RingTuning`` with its reason, and a file in the person's cache.
May import: ``errors``, ``files``. ``launch.sweep`` starts the jobs that are measured; ``launch.facts`` reads the cache.
Starts without TensorFlow or NumPy.
"""
