"""One `fit` of the script: what a checkpoint of it holds, and how it goes on from one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from paceline.checkpoint.store import Stored
from paceline.resume import callback_states, logs, randoms, variables
from paceline.resume.plain import NotPlain, decode, encode
from paceline.resume.position import Followed
from paceline.training import progress
from paceline.training.trainer import spec_of

#: A checkpoint says what its model is, for `paceline checkpoint convert`, unless that would be most of the manifest.
_MOST_CONFIG_BYTES = 1 << 20


class Built(BaseException):
    """Ends a fit that was run only to make the variables of its model. No Exception: nothing catches it on its way."""


class Fit:
    """One call of `model.fit`, from before it begins.

    Args:
        number: From 1, in the order in which the script's fits begin.
        model: The model.
        callbacks: What the script gave.
        begin: The job step at its begin.
        saved: The checkpoint that it goes on from.
        only_builds: Whether it is to end as soon as its model has its variables.

    Attributes:
        place: How many steps of the epoch were run.
        epoch: The epoch.
        has_run: Whether a step was run, in this process.
    """

    def __init__(
        self,
        number: int,
        model: Any,
        callbacks: Any,
        *,
        begin: int,
        saved: Stored | None = None,
        only_builds: bool = False,
    ) -> None:
        self.number = number
        self.model = model
        self.given = callback_states.listed(callbacks)
        self.listed: Sequence[Any] = self.given
        self.begin = begin
        self.saved = saved
        self.only_builds = only_builds
        self.place, self.epoch = 0, 0
        self.has_run = False
        self.training: Followed | None = None
        self.validation: Followed | None = None
        self.validation_data: Any = None
        self.loop: Any = None
        self.last_logs: dict[str, Any] = {}
        self._draws = False
        self._arrives = saved is not None
        self._config: Any = None

    # -- what is in a checkpoint -----------------------------------------------------------------

    def capture(self, *, is_chief: bool) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
        """Returns tensors, not to be kept, and meta. Collective: no."""
        tensors = variables.read(self.model)
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        meta = {
            "fit": self.number,
            "begin": self.begin,
            "epoch": self.epoch,
            "place": self.place,
            "rows": progress.rows_trained(),
            "stop_training": bool(getattr(self.model, "stop_training", False)),
            "randoms": encode(randoms.capture(), arrays, "randoms"),
            "callbacks": callback_states.capture(self.listed, arrays),
            "logs": encode(_plain_logs(self.last_logs), arrays, "logs"),
            "validation": self.validation.made if self.validation is not None else 0,
            "model_name": self.model.name,
        }
        if self.training is not None:
            mark = progress.mark_of_batch() if self.place else None
            meta["position"] = encode(self.training.capture(self.place, mark), arrays, "position")
        if is_chief:
            meta["files"] = logs.record(self.listed)
            config = self._configuration()
            if config is not None:
                meta["model"] = config
        return {**tensors, **{f"state/{name}": array for name, array in arrays.items()}}, meta

    def _configuration(self) -> Any:
        """Returns the model serialized, None where it cannot be or is large."""
        if self._config is None:
            import json

            try:
                config = keras.saving.serialize_keras_object(self.model)
                self._config = (config,) if len(json.dumps(config)) < _MOST_CONFIG_BYTES else (None,)
            except Exception:  # noqa: BLE001  of layers of the script's own: anything
                self._config = (None,)
        return self._config[0]

    # -- how it comes back -----------------------------------------------------------------------

    @property
    def is_waiting(self) -> bool:
        """Whether the variables of the checkpoint are not in place yet."""
        return self._arrives

    def meta(self, name: str) -> Any:
        """Returns a plain value of the checkpoint that this fit goes on from."""
        assert self.saved is not None  # noqa: S101  for mypy
        return decode(self.saved.meta[name], self._arrays())

    def _arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        assert self.saved is not None  # noqa: S101  for mypy
        prefix = "state/"
        return {name.removeprefix(prefix): a for name, a in self.saved.tensors.items() if name.startswith(prefix)}

    def rewind_files(self, *, is_chief: bool, tell: Callable[[str], None]) -> None:
        """Cuts files of callbacks back. Before `fit` is called."""
        if self.saved is not None:
            logs.rewind(self.given, self.saved.meta.get("files", {}), writes=is_chief, tell=tell)

    def set_callbacks(self, tell: Callable[[str], None]) -> None:
        """Gives callbacks what they knew."""
        if self.saved is not None:
            callback_states.restore(self.listed, self.saved.meta["callbacks"], self._arrays(), tell)

    def come_back(self, tell: Callable[[str], None]) -> bool | None:
        """Puts the data where they were; returns whether they are the same, None: nobody knows."""
        assert self.saved is not None  # noqa: S101  for mypy
        assert self.training is not None  # noqa: S101  for mypy
        replay_validation(self.validation_data, self.saved.meta["validation"])
        came = self.training.come_back(self.meta("position"), self.meta("randoms"), tell)
        self._draws = came.draws
        return came.same

    def pass_over(self, epoch_iterator: Any) -> None:
        """Has Keras count the steps that were run before."""
        assert self.saved is not None  # noqa: S101  for mypy
        self.place = int(self.saved.meta["place"])
        self.last_logs = self.meta("logs")
        passed = -(-self.place // epoch_iterator.steps_per_execution)
        for _ in range(passed):
            next(epoch_iterator._epoch_iterator)

    def arrive(self, where: str) -> None:
        """Sets all variables and random states. After the model was built, before its first step.

        Raises:
            ConfigurationRefused: The model is another one.
        """
        assert self.saved is not None  # noqa: S101  for mypy
        self._arrives = False
        self.build()
        variables.assign(self.model, self.saved.tensors, where)
        progress.set_rows(int(self.saved.meta["rows"]))
        randoms.restore(self.meta("randoms"), but=randoms.OF_PYTHON if self._draws else ())
        self.saved = replace(self.saved, tensors={})

    def build(self) -> None:
        """Makes the variables of a model that tracing did not make: one that runs eagerly."""
        model = self.model
        optimizer = getattr(model, "optimizer", None)
        if (model.built and (optimizer is None or optimizer.built)) or self.training is None:
            return
        spec = tf.nest.map_structure(spec_of, self.training.dataset.element_spec)
        model._symbolic_build(data_batch=spec)

    def give_back(self, where: str, tell: Callable[[str], None]) -> Any:
        """Returns the History of a fit that had ended, whose model and callbacks are as they were then."""
        assert self.saved is not None  # noqa: S101  for mypy
        history = next((c for c in self.given if isinstance(c, keras.callbacks.History)), None)
        self.listed = list(self.given)
        if history is None:
            history = keras.callbacks.History()
            self.listed = [*self.given, history]
        states = self.saved.meta["callbacks"]
        if len(states) > len(self.listed):  # the progress bar, which has no state
            states = states[: len(self.listed)]
        for callback in self.listed:
            keras.callbacks.Callback.set_model(callback, self.model)
        callback_states.restore(self.listed, states, self._arrays(), tell)
        self.build()
        variables.assign(self.model, self.saved.tensors, where)
        replay_validation(self.validation_data, self.saved.meta["validation"])
        if self.training is not None and "position" in self.saved.meta:
            self.training.make_again(max(0, self.meta("position")["made"] - self.training.made))
        progress.set_rows(int(self.saved.meta["rows"]))
        self.model.stop_training = bool(self.saved.meta["stop_training"])
        self.model.history = history
        randoms.restore(self.meta("randoms"))
        return history


def replay_validation(data: Any, made: int) -> None:
    """Makes as many iterators over a dataset for validation as a fit had made: a shuffle in it counts them."""
    if isinstance(data, tf.data.Dataset):
        for _ in range(made):
            iter(data)


def _plain_logs(found: Any) -> dict[str, Any]:
    """Returns a step's logs as NumPy's numbers; nothing where they are something else."""
    try:
        plain = {str(name): np.asarray(value)[()] for name, value in dict(found or {}).items()}
        encode(plain, {}, "logs")
    except (TypeError, ValueError, NotPlain):
        return {}
    return plain
