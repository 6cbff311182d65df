"""Says of a log, or of a run directory, which worker failed first and why, with the fix.

Enters: text that programs printed, or the files of a run. Leaves: an `Explanation`, for a person or as JSON.
May import: ``errors``, ``failures``, ``journal``, ``launch``. Starts without TensorFlow or NumPy.
"""
