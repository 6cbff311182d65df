"""Lines about data: tf.data, files of records, shapes and labels."""

from __future__ import annotations

from paceline.failures.row import Kind, Row

_CAUSE, _NOISE = Kind.CAUSE, Kind.NOISE
_TF = "https://github.com/tensorflow/tensorflow/issues/"
_DATA = "https://www.tensorflow.org/guide/data"

ROWS = (
    Row(
        "too-few-files",
        _CAUSE,
        r"There aren't enough elements in this dataset for each shard .*\(# elems = (?P<files>\d+), # shards = "
        r"(?P<workers>\d+)\)",
        "The data is in {files} file(s), fewer than the {workers} workers that TensorFlow shards them over.",
        "options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA; paceline run "
        "needs none",
        _TF + "36846",
    ),
    Row(
        "damaged-record",
        _CAUSE,
        r"corrupted record at (?P<where>\d+)|truncated record at (?P<where2>\d+)",
        "A TFRecord file is damaged, or is something else (compressed, HTML of an error page).",
        "gzip -t FILE; TFRecordDataset(files, compression_type='GZIP') for compressed ones; else make the file again",
        _DATA + "#consuming_tfrecord_data",
    ),
    Row(
        "file-missing",
        _CAUSE,
        r"(?P<file>/\S+); No such file or directory",
        "A file of the data is not there: {file}.",
        "ls -l {file} on the host of this worker; each host needs the data at the same place",
        _DATA,
    ),
    Row(
        "image-format",
        _CAUSE,
        r"Unknown image file format|Input is not a valid (?:PNG|JPEG)|Expected image \(JPEG, PNG",
        "A file among the images is none, or is empty.",
        "find DATA -size 0; file DATA/* | grep -v image; then remove what they name",
        "https://www.tensorflow.org/api_docs/python/tf/io/decode_image",
    ),
    Row(
        "ragged-batch",
        _CAUSE,
        r"Cannot batch tensors with different shapes in component (?P<part>\d+)",
        "Rows of different shapes are put into one batch.",
        "resize or pad them first, or dataset.padded_batch(...)",
        "https://www.tensorflow.org/api_docs/python/tf/data/Dataset#padded_batch",
    ),
    Row(
        "inhomogeneous-array",
        _CAUSE,
        r"setting an array element with a sequence\. The requested array has an inhomogeneous shape",
        "Rows of different lengths are put into one NumPy array.",
        "keras.utils.pad_sequences(rows), or tf.ragged.constant(rows)",
        "https://numpy.org/doc/stable/release/1.24.0-notes.html",
    ),
    Row(
        "object-array",
        _CAUSE,
        r"Failed to convert a NumPy array to a Tensor \(Unsupported object type (?P<type>\w+)\)",
        "An array holds Python objects ({type}): rows of different lengths, missing values, text among numbers.",
        "np.asarray(x, dtype='float32') shows which row it is",
        "https://www.tensorflow.org/guide/tensor",
    ),
    Row(
        "label-out-of-range",
        _CAUSE,
        r"Received a label value of (?P<label>-?\d+) which is outside the valid range of \[0, (?P<classes>\d+)\)",
        "A label is {label}, but the model's last layer has {classes} outputs (labels 0 to one less).",
        "make labels count from 0, or the last layer wider than the largest label",
        "https://www.tensorflow.org/api_docs/python/tf/keras/losses/SparseCategoricalCrossentropy",
    ),
    Row(
        "index-out-of-range",
        _CAUSE,
        r"indices\[(?P<where>[\d,]*)\] = (?P<index>-?\d+) is not in \[0, (?P<size>\d+)\)",
        "Index {index} was looked up in a table of {size} (an Embedding whose input_dim is too small, most often).",
        "Embedding(input_dim=largest index + 1, ...)",
        "https://keras.io/api/layers/core_layers/embedding/",
    ),
    Row(
        "empty-replica-batch",
        _CAUSE,
        r"slice index 0 of dimension 0 out of bounds|Input 0: \[\d+(?:,\d+)*\] != input \d+: \[0,",
        "The last batch is smaller than the number of replicas, and one of them gets no rows.",
        "dataset.batch(n, drop_remainder=True); paceline run handles a last batch of any size",
        _TF + "58809",
    ),
    Row(
        "addn-shapes",
        _CAUSE,
        r"Inputs to operation AddN of type AddN must have the same size and shape",
        "Gradients of different shapes are added: the replicas had different parts of a batch, or different models.",
        "dataset.batch(n, drop_remainder=True); build the same model on every worker",
        "https://github.com/keras-team/keras/issues/19246",
    ),
    Row(
        "incompatible-shapes",
        _CAUSE,
        r"Incompatible shapes: (?P<one>\[[\d,]*\]) vs\. (?P<other>\[[\d,]*\])",
        "Two tensors do not fit each other: {one} and {other}.",
        "print the shapes of labels and outputs before the line that the traceback names",
        "https://www.tensorflow.org/guide/tensor#broadcasting",
    ),
    Row(
        "dimensions-not-equal",
        _CAUSE,
        r"Dimensions must be equal, but are (?P<one>\d+) and (?P<other>\d+)|ConcatOp : Dimension \d+ in both shapes"
        r"|Matrix size-incompatible",
        "Two tensors do not fit each other.",
        "print their shapes before the line that the traceback names",
        "https://www.tensorflow.org/guide/tensor",
    ),
    Row(
        "reshape-size",
        _CAUSE,
        r"Input to reshape is a tensor with (?P<have>\d+) values, but the requested shape (?:has"
        r"|requires a multiple of) "
        r"(?P<want>\d+)",
        "A tensor of {have} values cannot have a shape of {want}.",
        "tf.reshape(x, [tf.shape(x)[0], -1]) keeps rows apart where the batch's size differs",
        "https://www.tensorflow.org/api_docs/python/tf/reshape",
    ),
    Row(
        "dtype-mismatch",
        _CAUSE,
        r"cannot compute (?P<op>\w+) as input #\d+\S* was expected to be an? (?P<want>\w+) tensor but is an? "
        r"(?P<got>\w+)",
        "{op} got {got} where it needs {want}.",
        "tf.cast(x, tf.{want})",
        "https://www.tensorflow.org/api_docs/python/tf/cast",
    ),
    Row(
        "nan-checked",
        _CAUSE,
        r"Tensor had (?:NaN|Inf|\+?-?Inf and NaN|NaN and Inf|-?Inf)\b.*values|Detected Infinity or NaN in output",
        "A tensor became NaN or infinite.",
        "a lower learning rate, clipnorm=1.0 in the optimizer, and no log or division of 0; the line names the "
        "operation",
        "https://www.tensorflow.org/api_docs/python/tf/debugging/enable_check_numerics",
    ),
    Row(
        "loss-nan",
        _CAUSE,
        r"Invalid loss, terminating training|NaN loss encountered|NaN loss during training|Model diverged with loss "
        r"= NaN",
        "The loss became NaN, and the script ends training then.",
        "a lower learning rate, clipnorm=1.0, data without NaN; with several GPUs use Keras 3.10 or newer",
        "https://github.com/keras-team/keras/issues/21061",
    ),
    Row(
        "not-a-dataset-end",
        _NOISE,
        r"[Yy]our (?:input|dataset iterator) ran out of data",
        "The data has fewer batches than steps_per_epoch asks for: training went on with what there is.",
        "",
        "https://github.com/tensorflow/tensorflow/issues/30636",
    ),
    Row(
        "unshardable",
        _NOISE,
        r"Found an unshardable source dataset|Did not find a shardable source|switching to DATA[- ]based sharding"
        r"|will apply DATA sharding policy",
        "TensorFlow shards the data by rows, not by files.",
        "",
        _TF + "45157",
    ),
    Row(
        "shuffle-ignored",
        _NOISE,
        r"`shuffle=True` was passed, but will be ignored",
        "Keras does not shuffle a tf.data.Dataset by itself.",
        "",
        "https://keras.io/api/models/model_training_apis/",
    ),
    Row(
        "cache-partial",
        _NOISE,
        r"The calling iterator did not fully read the dataset being cached",
        "A cache in memory was not filled: take() belongs before cache().",
        "",
        "https://www.tensorflow.org/guide/data_performance#caching",
    ),
)
