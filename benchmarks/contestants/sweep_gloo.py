"""Sums through PyTorch's Gloo, in place.

Usage: python sweep_gloo.py RANK SIZE PORT
"""

import os

import sweep_common
import workload

rank, size, port = workload.arguments()
os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
import torch
from torch import distributed

torch.set_num_threads(1)
distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)


def prepare(count):
    values = torch.zeros(count)

    def call():
        for _ in range(sweep_common.IN_ONE_CALL):
            distributed.all_reduce(values)

    return call


sweep_common.report(rank, sweep_common.sweep(prepare))
distributed.destroy_process_group()
