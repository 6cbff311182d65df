"""Bring the processes of a job up, keep them up, and end them.

Enters: ``RunOptions``, what a person asked for. Leaves: a run directory, worker processes, and one exit code.
``facts`` looks at the machine, ``plan`` decides (a pure function), ``local`` acts.
May import: ``errors``, ``decision``, ``failures``, ``files``, ``journal``, ``cluster``, ``communication``,
``step_options``, ``tuning``, ``versions``. It meets the worker at a process boundary only. Starts without TensorFlow
or NumPy.
"""
