"""What is said of a configuration that comes too late, from what is asked and what is in effect alone."""

import pytest
import tensorflow as tf

from paceline.session.configuration import explain_logical, explain_memory_growth, explain_threads, explain_visible

CPU, GPU0, GPU1 = (
    tf.config.PhysicalDevice(f"/physical_device:{name}", name[:3]) for name in ("CPU:0", "GPU:0", "GPU:1")
)
ALL = [CPU, GPU0, GPU1]


@pytest.mark.parametrize(
    ("asked", "words"),
    [(0, ""), (4, ""), (1, "with 4 threads; paceline run --env TF_NUM_INTEROP_THREADS=1")],
)
def test_threads(asked, words):
    text = explain_threads("inter", 4, asked)
    assert (words in text) if words else not text


@pytest.mark.parametrize(
    ("asked", "kind"),
    [(ALL, None), ([GPU0, GPU1], "GPU"), ([CPU], "CPU"), ([GPU0, GPU1, CPU], None), ([], "TPU")],
)
def test_visible_devices_that_are_those_of_the_job_pass_without_a_word(asked, kind):
    assert not explain_visible(ALL, asked, kind)


@pytest.mark.parametrize(
    ("asked", "kind", "call"),
    [
        ([], "GPU", "set_visible_devices([], 'GPU')"),
        ([GPU1], "GPU", "set_visible_devices([GPU:1], 'GPU')"),
        ([GPU1, GPU0], "GPU", "set_visible_devices([GPU:1, GPU:0], 'GPU')"),
        ([CPU], None, "set_visible_devices([CPU:0])"),
    ],
)
def test_other_gpus_are_a_matter_of_an_option(asked, kind, call):
    text = explain_visible(ALL, asked, kind)
    assert text.startswith(f"tf.config.{call} is without effect")
    assert '--devices 0,1 chooses GPUs, --devices "" hides them' in text


def test_a_cpu_that_is_divided_so_already_passes_without_a_word():
    assert not explain_logical(2, CPU, [tf.config.LogicalDeviceConfiguration()] * 2)


def test_a_gpu_is_not_divided():
    text = explain_logical(1, GPU0, [tf.config.LogicalDeviceConfiguration(memory_limit=1024)] * 2)
    assert "(GPU:0, 2 logical devices of 1024, 1024 MB) is without effect" in text
    assert "no option" in text


def test_memory_growth_is_a_matter_of_a_variable():
    assert "--env TF_FORCE_GPU_ALLOW_GROWTH=false" in explain_memory_growth(GPU0, enable=False)
