"""Sums by key of PyTorch and JAX beside redtune's: 32 Mi f32, by keys of i32 and i64 with the spreads of bench/keys.cu

Prints a row for each dtype of keys, spread and number of keys: microseconds of a call, the median of 3 rounds of 10
calls, of redtune.by_key, index_add_, scatter_reduce_ (which takes i64 only) and jax.ops.segment_sum, if JAX has a GPU.
Results are held against each other; exits with 1 where one differs.

usage: keys_torch.py [ELEMENTS]
"""

import sys
import time

import torch
from torch_events import median_us, time_us

import redtune

try:
    import jax

    jax.devices("gpu")
except Exception as reason:
    print(f"without JAX: {' '.join(str(reason).split())[:100]}")
    jax = None

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 25
torch.manual_seed(1)
x = torch.rand(COUNT, device="cuda")


def make_keys(spread, K):
    if spread == "uniform":
        return torch.randint(K, (COUNT,), device="cuda")
    if spread == "one":
        return torch.full((COUNT,), K // 2, device="cuda")
    if spread == "sorted":
        return torch.arange(COUNT, device="cuda") * K // COUNT
    return (K ** torch.rand(COUNT, device="cuda", dtype=torch.float64)).long() - 1


def time_torch(call):
    call(0)
    return median_us(call, 10 if time_us(call, 1) < 20000 else 2, rounds=3)


def time_jax(keys, K):
    values, ids = jax.dlpack.from_dlpack(x), jax.dlpack.from_dlpack(keys)
    add = jax.jit(lambda values, ids: jax.ops.segment_sum(values, ids, num_segments=K))
    add(values, ids).block_until_ready()
    calls = 3
    begin = time.perf_counter()
    for _ in range(calls):
        found = add(values, ids)
    found.block_until_ready()
    return 1e6 * (time.perf_counter() - begin) / calls


def race(dtype, spread, K):
    keys = make_keys(spread, K).to(dtype)
    wide = keys.long()
    out = torch.empty(K, device="cuda")
    given = {"uniform": "uniform", "one": "one", "log-uniform": "skewed"}.get(spread)
    times = [
        time_torch(lambda i: redtune.by_key(x, keys, K, out=out)),
        time_torch(lambda i: redtune.by_key(x, keys, K, out=out, spread=given)),
        time_torch(lambda i: out.zero_().index_add_(0, keys, x)),
    ]
    if dtype == torch.int64:
        times.append(time_torch(lambda i: out.zero_().scatter_reduce_(0, keys, x, "sum")))
    else:
        times.append(float("nan"))
    times.append(time_jax(keys, K) if jax else float("nan"))
    got = redtune.by_key(x, keys, K).double()
    want = torch.zeros(K, device="cuda", dtype=torch.float64).index_add_(0, wide, x.double())
    right = bool((abs(got - want) <= 2**-18 * want).all())
    name = str(dtype).replace("torch.int", "i")
    figures = "".join(f"{each:13.1f}" for each in times)
    least = min(each for each in times[2:] if each == each) / times[0]
    print(f"{name:4} {spread:12}{K:9}{figures}{least:9.2f}{'' if right else ' WRONG'}", flush=True)
    return right


print(
    f"{'keys':4} {'spread':12}{'K':>9}{'redtune':>13}{'spread said':>13}{'index_add_':>13}"
    f"{'scatter_':>13}{'segment_sum':>13}{'least /':>9}"
)
all_right = True
for dtype in torch.int32, torch.int64:
    for spread in "uniform", "one", "sorted", "log-uniform":
        for K in 8, 256, 4096, 16384, 50000:
            all_right &= race(dtype, spread, K)
    all_right &= race(dtype, "uniform", 1 << 20)
sys.exit(not all_right)
