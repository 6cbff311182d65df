"""One `tf.distribute.Strategy` object per process, whatever the script constructs.

Enters: a transport and this worker's place. Leaves: the strategy object, installed so
that the constructors a script calls return it. May import: collectives, and of the cold
rooms communication, errors and step_options.
"""
