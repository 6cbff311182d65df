"""PyTorch DistributedDataParallel over Gloo.

Usage: python torch_ddp.py RANK SIZE PORT
"""

import workload

rank, size, port = workload.arguments()
workload.one_core(rank)
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
    model = nn.parallel.DistributedDataParallel(model)
x, y = (torch.from_numpy(a) for a in workload.data(size))
y = y.long()
optimizer = torch.optim.Adam(model.parameters())
criterion = nn.CrossEntropyLoss()
batch = workload.ROWS_A_WORKER * size
clock = workload.Clock(size)
for _ in range(workload.EPOCHS):
    correct = total = 0.0
    for start in range(0, len(x), batch):
        begin = start + rank * workload.ROWS_A_WORKER
        rows = slice(begin, begin + workload.ROWS_A_WORKER)
        optimizer.zero_grad(set_to_none=True)
        logits = model(x[rows])
        loss = criterion(logits, y[rows])
        loss.backward()
        optimizer.step()
        correct += (logits.argmax(1) == y[rows]).float().sum()
        total += loss.detach()
    clock.epoch()
clock.report(rank)
