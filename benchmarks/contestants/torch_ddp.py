"""PyTorch DistributedDataParallel over Gloo, with a bare loop.

Usage: python torch_ddp.py RANK SIZE PORT

At its best: gradients live in the buckets, the graph is static, buffers are not sent around (BatchNorm's moving
statistics then stay each worker's own), Adam is the fused one, and the data are views of arrays in memory.
"""

import os

import workload

rank, size, port = workload.arguments()
os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
import torch
from torch import distributed, nn

torch.set_num_threads(1)
torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(784, 256),
    nn.ReLU(),
    nn.BatchNorm1d(256),
    nn.Linear(256, 128),
    nn.ReLU(),
    nn.BatchNorm1d(128),
    nn.Linear(128, 10),
)
if size > 1:
    distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    model = nn.parallel.DistributedDataParallel(
        model, gradient_as_bucket_view=True, static_graph=True, broadcast_buffers=False
    )
x, y = (torch.from_numpy(batches) for batches in workload.own_data(rank, size))
y = y.long()
optimizer = torch.optim.Adam(model.parameters(), fused=True)
criterion = nn.CrossEntropyLoss()
clock = workload.Clock(size)
for _ in range(workload.EPOCHS):
    correct = total = torch.zeros(())
    for rows, labels in zip(x, y, strict=True):
        optimizer.zero_grad(set_to_none=True)
        logits = model(rows)
        loss = criterion(logits, labels)
        loss.backward()
        optimizer.step()
        correct = correct + (logits.argmax(1) == labels).sum()
        total = total + loss.detach()
    print(f"accuracy: {correct.item() / y.numel():.4f} - loss: {total.item() / len(y):.4f}")
    clock.epoch()
clock.report(rank)
if size > 1:
    distributed.destroy_process_group()
