"""Lines of Keras."""

from __future__ import annotations

from paceline.failures.row import Kind, Row

_CAUSE, _NOISE = Kind.CAUSE, Kind.NOISE
_KERAS = "https://github.com/keras-team/keras/issues/"

ROWS = (
    Row(
        "unbuilt-backup",
        _CAUSE,
        r"To use the BackupAndRestore (?:method|callback), you(?:r)? model must be built",
        "BackupAndRestore needs a model that is built before fit.",
        "begin the model with keras.Input(shape), or call it once on a batch",
        _KERAS + "20712",
    ),
    Row(
        "target-output-shape",
        _CAUSE,
        r"Arguments `target` and `output` must have the same shape. Received: target\.shape=(?P<one>\([^)]*\)), "
        r"output\.shape=(?P<other>\([^)]*\))",
        "Labels are of shape {one}, the model's outputs of {other}.",
        "sparse_categorical_crossentropy for whole-number labels, or keras.utils.to_categorical(y)",
        "https://keras.io/api/losses/probabilistic_losses/",
    ),
    Row(
        "input-incompatible",
        _CAUSE,
        r"Input (?:\d+ )?(?:\S+ )?(?:of|with) .*is incompatible with the layer|expected (?:axis|shape|min_ndim).*found",
        "The data has another shape than the model's first layer expects.",
        "print(next(iter(dataset))[0].shape) and model.input_shape: they have to agree",
        "https://keras.io/api/layers/base_layer/",
    ),
    Row(
        "symbolic-in-tf",
        _CAUSE,
        r"A KerasTensor (?:cannot be used as input to a TensorFlow function|is symbolic)",
        "A function of TensorFlow is called on a Keras model's symbolic tensor.",
        "use keras.ops instead of tf, or put the call into a Layer",
        "https://keras.io/keras_core/guides/functional_api/",
    ),
    Row(
        "custom-class-unknown",
        _CAUSE,
        r"Could not locate (?:class|function) '(?P<what>\w+)'|Unknown layer: '?(?P<what2>\w+)",
        "The saved model has a class that this program does not know: {what}.",
        "@keras.saving.register_keras_serializable() above the class, or load_model(..., custom_objects=...)",
        "https://keras.io/guides/serialization_and_saving/",
    ),
    Row(
        "keras-file-missing",
        _CAUSE,
        r"File not found: filepath=(?P<file>\S+?)\. Please ensure the file is an accessible",
        "{file} is not there, or is no whole .keras file.",
        "ls -l {file}; unzip -t {file}",
        "https://keras.io/api/models/model_saving_apis/model_saving_and_loading/",
    ),
    Row(
        "deserialize",
        _CAUSE,
        r"could not be deserialized properly",
        "The saved model was made by another version of Keras, or has classes without get_config.",
        "load it with the Keras it was saved with (pip install keras==X), or build the model and load_weights",
        "https://keras.io/guides/serialization_and_saving/",
    ),
    Row(
        "legacy-optimizer",
        _CAUSE,
        r"keras\.optimizers\.legacy` is not supported in Keras 3|get_scaled_loss|get_unscaled_gradients",
        "The script uses an interface that Keras 3 does not have any more.",
        "keras.optimizers.X instead of legacy.X; optimizer.scale_loss(loss) instead of get_scaled_loss",
        _KERAS + "20894",
    ),
    Row(
        "add-metric",
        _CAUSE,
        r"Layer `?add_metric\(?\)?`? method is deprecated|has no attribute 'add_metric'",
        "add_metric is gone in Keras 3.",
        "make a keras.metrics.Mean() and update it in call or train_step",
        "https://keras.io/guides/migrating_to_keras_3/",
    ),
    Row(
        "two-kerases",
        _CAUSE,
        r"(?:Received|Found): ?.*tf_keras|Layers added to a Sequential model .* Received: <tf_keras"
        r"|only `?keras\S*` .*tf_keras",
        "Objects of tf_keras and of Keras 3 are mixed.",
        "import keras everywhere; unset TF_USE_LEGACY_KERAS",
        "https://github.com/keras-team/keras-tuner/issues/1039",
    ),
    Row(
        "partly-known-shape",
        _CAUSE,
        r"Cannot convert a partially known TensorShape",
        "Keras before 3.10 cannot take sparse gradients of an Embedding over replicas.",
        "pip install -U 'keras>=3.10'",
        _KERAS + "21069",
    ),
    Row(
        "checkpoint-weights-differ",
        _CAUSE,
        r"A total of (?P<number>\d+) objects could not be loaded"
        r"|Layer '?\S+'? expected \d+ variables, but received \d+",
        "The weights in the file do not fit the model: it was changed since, or is another one.",
        "build the model as it was when it was saved; model.load_weights(file, skip_mismatch=True) takes what fits",
        "https://keras.io/api/models/model_saving_apis/weights_saving_and_loading/",
    ),
    Row(
        "legacy-hdf5",
        _NOISE,
        r"You are saving your model as an HDF5 file via|Do not pass an `input_shape`/`input_dim` argument",
        "Keras prefers another way of writing this.",
        "",
        "https://keras.io/guides/serialization_and_saving/",
    ),
)
