"""What is known of the lines that programs print when a training fails: a table, a family a file.

Enters: one line of a log, without prefix and colours. Leaves: the row of the table that knows it, with what it means,
what to do, and whether it is a cause, a consequence of another failure, or noise.
May import: nothing but the standard library. Starts without TensorFlow or NumPy.
"""
