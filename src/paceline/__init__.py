"""paceline: your Keras script, unchanged, on any number of GPUs and machines.

Importing this package imports neither TensorFlow nor NumPy: devices, threads and
TF_CONFIG must be set before TensorFlow is, so the public names that need it are
loaded when they are first used.
"""

from __future__ import annotations

__version__ = "0.1.0"
