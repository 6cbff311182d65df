#!/bin/sh
# 02: the same file on two workers. Nothing in it changes; batch_size=100 is the global batch, so each worker
# gets 50 rows of every batch, and the losses are those of one device.
exec paceline run "$(dirname "$0")/01_one_device.py" --workers 2 "$@"
