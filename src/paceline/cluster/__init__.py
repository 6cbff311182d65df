"""Who takes part in a job.

**Enters:** an environment (a mapping of variables), or the text of a ``TF_CONFIG``.
**Leaves:** one frozen :class:`~paceline.cluster.spec.ClusterSpec` in which every fact
remembers where it came from, or findings that name the place, the fault and the fix.
**May import:** ``paceline.errors``. Never TensorFlow, NumPy or another room.

===================  ==============================================================
``spec``             ClusterSpec, Member, Task: the value itself
``detect``           explicit > ``TF_CONFIG`` > local; the only reader of os.environ
``tf_config``        parse, check and write ``TF_CONFIG``
``text``             from text to a document: JSON, or what people write instead
``findings``         what a check says
``address``          the rules for one ``host:port``
``roles``            the rules for roles, and for their members taken together
``own_task``         the rules for the own task
``positions``        JSON in which every value knows its line and column
``python_literal``   a TF_CONFIG that was written as Python
``local``            this machine alone
===================  ==============================================================
"""
