//@ -- Ranks that hand each other their messages through memory that all of them reach.
//@ takes given, result, block_of_results, rest
// As model/launch.h has it.
struct links {
    u64 mailboxes, own, epoch, failure, limit_ns;
    u32 ranks, rank;
};

static_assert(sizeof(links) == 48, "");

// A message travels in words of 32 bits of it and, above them, the number of the run, each of which
// is one store: a reader that sees the number has the bits. A mailbox has such words of every rank,
// twice: those of odd runs and those of even ones. A rank that sends its words of one run has read
// all of the run before, so that nobody still waits for what it overwrites.
constexpr u32 PEER_WORDS = sizeof(message) / 4;

__device__ __forceinline__ void send_word(u64 *to, u64 word)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" : : "l"(to), "l"(word) : "memory");
}

__device__ __forceinline__ u64 look_at_word(const u64 *from)
{
    u64 word;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}

__device__ __forceinline__ u64 time_ns()
{
    u64 time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
}

// Waits for the word of that run, not for ever. Whether it came.
__device__ __forceinline__ bool receive_word(const u64 *from, u32 run, u64 limit_ns, u32 *half)
{
    const u64 start = time_ns();
    for (;;) {
        for (u32 look = 0; look < 64; look++) {
            const u64 word = look_at_word(from);
            if (word >> 32 == run) {
                *half = (u32)word;
                return true;
            }
        }
        if (time_ns() - start > limit_ns) return false;
    }
}

// Sends this rank's message, which is messages[rank], to all others (steps & 1), and waits for
// theirs and joins them (steps & 2). A rank whose message does not come is noted in *failure, and
// there is no result.
// Start it with one block of @{block_of_results} threads.
extern "C" __global__ void __launch_bounds__(@{block_of_results})
redtune_join_peers(message *messages, links to, u32 steps, @{result.c} *output@{given.kernel})
{
    __shared__ u32 missing;  // the rank, from 1 on; 0: none
    u32 *halves = (u32 *)messages;
    const u32 run = *(volatile u32 *)to.epoch + 1, words = to.ranks * PEER_WORDS;
    const u64 turn = run % 2 ? words : 0;
    if (steps & 1)
        for (u32 i = threadIdx.x; i < words; i += blockDim.x) {
            const u32 own = to.rank * PEER_WORDS + i % PEER_WORDS;
            u64 *mailbox = ((u64 **)to.mailboxes)[i / PEER_WORDS];
            if (i / PEER_WORDS != to.rank) send_word(mailbox + turn + own, (u64)run << 32 | halves[own]);
        }
    if (!(steps & 2)) return;
    if (threadIdx.x == 0) missing = 0;
    __syncthreads();
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) {
        if (i / PEER_WORDS == to.rank) continue;
        u32 half = 0;
        if (!receive_word((u64 *)to.own + turn + i, run, to.limit_ns, &half))
            atomicMax(&missing, i / PEER_WORDS + 1);
        halves[i] = half;
    }
    __syncthreads();
    if (threadIdx.x == 0) *(volatile u32 *)to.epoch = run;
    if (missing) {
        if (threadIdx.x == 0) *(volatile u32 *)to.failure = missing;
        return;
    }
    if (threadIdx.x < 32) join(messages, to.ranks, output@{rest});
}

