"""Is this machine fit to train: facts gathered without touching the process that asks.

**Enters:** an environment (a mapping). **Leaves:** one frozen :class:`~paceline.doctor.report.Report`.
**May import:** ``paceline.errors``, ``paceline.versions``, ``paceline.cluster``. What needs TensorFlow (devices,
active repairs) is asked of a throwaway process, see ``ask``; nothing hot is imported here.
"""
