"""Run as a module and by path; looks at how it was started, and starts processes."""

import multiprocessing
import os
import pickle
import sys
import threading
import time

import keras
from facts import digest, note, table

if __package__:
    from .arithmetic import ANSWER, doubled
else:
    from arithmetic import ANSWER

    def doubled(number):
        """Returns twice a number, in a process that has to find this file as its main module."""
        return 2 * number


class Record:
    """A class of the main module, to be pickled."""

    value = 3


def tripled(number):
    """Returns three times a number; of the main module, in another process."""
    return 3 * number


def main():
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        found = pool.map(doubled, [1, 2]) + pool.map(tripled, [1])
    note(
        argv=list(sys.argv), name=__name__, file=__file__, package=__package__, path0=sys.path[0], cwd=os.getcwd(),
        processes=found, answer=ANSWER, pickled=pickle.loads(pickle.dumps(Record())).value,
        main=sys.modules["__main__"].Record is Record, flags=[sys.flags.dev_mode, os.environ.get("EXTRA")],
    )  # fmt: skip
    x, y = table()
    model = keras.Sequential([keras.Input([6]), keras.layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(x, y, batch_size=16, verbose=0)
    note(digest=digest(*model.get_weights()))
    # a thread that outlives the main program is waited for, as python does
    threading.Thread(target=lambda: (time.sleep(0.5), note(thread_ended=True))).start()


if __name__ == "__main__":
    sys.exit(main())
