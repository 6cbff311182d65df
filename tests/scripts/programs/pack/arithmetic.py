"""A neighbour of the program."""

ANSWER = 42


def doubled(number):
    """Returns twice a number; called in processes that the program starts."""
    return 2 * number
