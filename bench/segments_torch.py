"""PyTorch's torch.segment_reduce on tables as those of bench/segments.cu: sums of segments of f32

Prints a row per table: microseconds of a call, the median of 3 rounds of 10 calls, or of 1 that takes long. Inputs
below 160 MB have copies, so that no call finds its own in L2.
"""

import numpy
import torch
from torch_events import median_us, time_us

MI = 1 << 20
random = numpy.random.default_rng(1)


def chain(lengths):
    return numpy.concatenate([[0], numpy.cumsum(lengths)])


def equal(length, elements):
    count = elements // length
    return f"{count} of {length}", chain(numpy.full(count, length))


def zipf(count, elements):
    share = random.permutation(1 / numpy.arange(1, count + 1))
    offsets = numpy.cumsum(share) / share.sum() * elements
    return f"{count} by Zipf", numpy.concatenate([[0], offsets.astype(numpy.int64)])


def giant(count, length, large):
    lengths = numpy.full(count, length)
    lengths[count // 3] = large
    return f"{count} of {length}, one of {large}", chain(lengths)


def half_empty(length, elements):
    lengths = numpy.where(random.random(2 * elements // length) < 0.5, length, 0)
    return f"{length}, half of them empty", chain(lengths)


def nearly(length, elements):
    lengths = (length * (0.75 + 0.5 * random.random(elements // length))).astype(numpy.int64)
    return f"{len(lengths)} of about {length}", chain(lengths)


def race(name, table):
    elements = int(table[-1])
    copies = [torch.ones(elements, device="cuda") for _ in range(1 + 160 * MI // (4 * elements))]
    offsets = torch.from_numpy(table).cuda()

    def call(i):
        torch.segment_reduce(copies[i % len(copies)], "sum", offsets=offsets, unsafe=True)

    call(0)
    calls = 10 if time_us(call, 1) < 20000 else 1
    print(f"{name:34} {median_us(call, calls, rounds=3):9.1f}", flush=True)


for length in 4, 16, 32, 100, 256, 1000, 4096, 65536, 1048576:
    race(*equal(length, 64 * MI))
for length in 4, 32, 256, 4096, 262144:
    race(*equal(length, 4 * MI))
for length in 512, 4096:
    race(*nearly(length, 64 * MI))
race(*nearly(4096, 4 * MI))
race(*zipf(16384, 64 * MI))
race(*zipf(100000, 64 * MI))
race(*zipf(1000000, 16 * MI))
race(*giant(1000000, 3, 100000000))
for length in 64, 256, 4096:
    race(*half_empty(length, 64 * MI))
race(*half_empty(5, 16 * MI))
