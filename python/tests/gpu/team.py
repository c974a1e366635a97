"""Team: redtune.Team of a process group, against torch's own answers, captured and timed.

usage: torchrun --nproc-per-node N team.py [BACKEND]     each process takes a GPU
"""

import os
import statistics
import sys

import torch
import torch.distributed as dist

import redtune

OPS = {
    "sum": lambda x: x.double().sum(), "mean": lambda x: x.double().mean(),
    "norm2": lambda x: x.double().norm(), "max": lambda x: x.max(), "argmax": lambda x: x.argmax(),
    "var": lambda x: x.double().var(correction=0), "nonzeros": lambda x: x.count_nonzero(),
}  # fmt: skip
COUNTS = ((1000, 1000), (1 << 20, 3), (0, 4097), (777, 1 << 18))


def own_part(counts, rank):
    """A part of an array that all ranks make alike, and the array."""
    counts = [counts[i % len(counts)] for i in range(dist.get_world_size())]
    torch.manual_seed(sum(counts))
    whole = torch.randn(sum(counts)).cuda()
    first = sum(counts[:rank])
    return whole[first : first + counts[rank]], first, whole


def same_on_all(value):
    """Whether all ranks have the same bits."""
    mine = value.detach().reshape(-1).view(torch.uint8).cpu()
    all_bits = [None] * dist.get_world_size()
    dist.all_gather_object(all_bits, mine.numpy().tobytes())
    return len(set(all_bits)) == 1


def check_ops(team):
    checked = 0
    for counts in COUNTS:
        part, first, whole = own_part(counts, team.rank)
        for op, answer in OPS.items():
            got, wanted = team.reduce(part, op=op, first=first), answer(whole)
            assert same_on_all(got), op
            torch.testing.assert_close(got.double(), wanted.double(), rtol=1e-5, atol=1e-3, msg=op)
            checked += 1
    rows, _, whole = own_part((300, 500), team.rank)
    columns = team.reduce(rows.reshape(-1, 4), axis=0)
    torch.testing.assert_close(columns, whole.reshape(-1, 4).sum(0), rtol=1e-4, atol=1e-3)
    listed = redtune.List([rows, rows[:7].clone()])
    norm = team.reduce(listed, op="norm2")
    assert same_on_all(norm)
    total = torch.zeros((), device="cuda", dtype=torch.float64)
    for part in (rows, rows[:7]):
        total += part.double().square().sum()
    if dist.get_backend() == "nccl":
        dist.all_reduce(total)
        torch.testing.assert_close(norm.double(), total.sqrt(), rtol=1e-5, atol=1e-5)
    return checked + 2


def check_fixed(team):
    torch.manual_seed(3)
    whole = torch.randn(1 << 20).cuda()
    first, count = team.share(len(whole), order="fixed")
    several = team.reduce(whole[first : first + count], order="fixed", first=first)
    assert torch.equal(several, redtune.sum(whole, order="fixed"))


def captured(call, times):
    graph = torch.cuda.CUDAGraph()
    call()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(times):
            call()
    return graph


def check_capture(team):
    x, out = torch.ones(5000, device="cuda"), torch.empty((), device="cuda")
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            team.reduce(x[:4321], op="sumabs", out=out)
        raise AssertionError("a first call was captured")
    except RuntimeError as error:
        assert "once before" in str(error), error
    graph = captured(lambda: team.reduce(x, out=out), 1)
    for value in range(1, 1001):
        x.fill_(value)
        graph.replay()
    assert out.item() == 5000.0 * 1000 * team.size
    return 1000


def time_us(call):
    """A call's time in a graph of 20, and on a stream."""
    graph = captured(call, 20)

    def timed(run, count):
        times = []
        for _ in range(15):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            run()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e3 / count)
        return statistics.median(times)

    return timed(graph.replay, 20), timed(lambda: [call() for _ in range(100)], 100)


def race(team):
    for kib in (4, 1024, 65536, 524288):
        x, y = torch.ones(kib * 256, device="cuda"), torch.empty((), device="cuda")

        def by_torch():
            torch.sum(x, dim=0, out=y)
            dist.all_reduce(y)

        torch_us, torch_stream = time_us(by_torch) if dist.get_backend() == "nccl" else (0, 0)
        team_us, team_stream = time_us(lambda: team.reduce(x, out=y))
        local_us, _ = time_us(lambda: redtune.sum(x, out=y))
        team.reduce(x, out=y)
        assert y.item() == kib * 256.0 * team.size
        if team.rank == 0:
            print(
                f"{kib:7d} KiB a part, in a graph: redtune.sum {local_us:7.2f} us, team "
                f"{team_us:7.2f}, torch.sum and all_reduce {torch_us:7.2f}; on a stream: team "
                f"{team_stream:7.2f}, torch {torch_stream:7.2f}"
            )


def race_rows(team, by_messages):
    """Many results: reduced by NCCL, their messages by NCCL, and PyTorch's own two calls."""
    for rows in (16, 1024, 4096, 1 << 16, 1 << 20):
        x = torch.ones(rows, max(1, (1 << 22) // rows), device="cuda")
        y = torch.empty(rows, device="cuda")

        def by_torch():
            torch.sum(x, dim=1, out=y)
            dist.all_reduce(y)

        def by_both():
            redtune.sum(x, axis=1, out=y)
            dist.all_reduce(y)

        def by_team(ranks):
            return lambda: ranks.reduce(x, axis=1, out=y)

        calls = by_torch, by_both, by_team(team), by_team(by_messages)
        times = [time_us(call)[0] for call in calls]
        local = time_us(lambda: redtune.sum(x, axis=1, out=y))[0]
        assert team.reduce(x, axis=1).sum().item() == float(x.numel()) * team.size
        if team.rank == 0:
            print(
                f"{rows:7d} results in a graph: redtune.sum {local:7.2f} us, with all_reduce "
                f"{times[1]:7.2f}; torch.sum and all_reduce {times[0]:7.2f}; team {times[2]:7.2f}, "
                f"by messages {times[3]:7.2f}"
            )


def main(backend):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(backend)
    team = redtune.Team()
    checked, replays = check_ops(team), check_capture(team)
    check_fixed(team)
    if team.rank == 0:
        print(f"{backend}: {checked} reductions right, {replays} replays; {team.explain()}")
    race(team)
    if backend == "nccl":
        large = redtune.Team(results=1 << 20, connect=False)
        race_rows(team, large)
        torch.cuda.synchronize()
        large.close()
    torch.cuda.synchronize()
    dist.barrier()
    team.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "nccl")
