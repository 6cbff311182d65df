"""Inside a worker process, before TensorFlow is imported.

Enters: ``PACELINE_JOB`` (a path), ``PACELINE_RANK``, and what the launcher says on the command line about itself.
Leaves: a process whose environment, threads, devices, signals and crash records are set, and a call of
``paceline.session.main`` by module name; then the exit code.
May import: ``errors``, ``journal``. Starts without TensorFlow or NumPy.
"""
