/* Peers: the memory through which the ranks of a team hand each other messages.
 *
 * A rank's memory, zero at first: the mailbox, which has words of every rank, for odd runs and for
 * even ones; the table of all ranks' mailboxes; the number of runs; the failure. It is an
 * allocation of its own, of 2 MiB and more, because CUDA shares whole ones with other processes. */
#include "api/team/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/hash.h"
#include "gpu/stream.h"

enum { TURNS = 2, WORD_BYTES = 8, MEMORY_BYTES_MIN = 2 << 20, NUMBERS_BYTES = 64 };
/* A word has 32 bits of a message. */
enum { MAILBOX_BYTES = TURNS * 2 * RDT_ACCUMULATOR_BYTES_MAX / 4 * WORD_BYTES };

static size_t mailbox_bytes(int ranks) { return (size_t)ranks * MAILBOX_BYTES; }

static redtune_status make_memory(rdt_peers *peers, size_t bytes, redtune_error *err) {
    const rdt_driver *driver = peers->context->driver;
    redtune_status status = rdt_buffer_create(driver, bytes, &peers->memory, err);
    if (status) return status;
    CUresult rc = driver->memset_d8_async(peers->memory.address, 0, bytes, peers->stream);
    status = rdt_driver_check(driver, rc, err, "clear %zu bytes", bytes);
    return status ? status : rdt_stream_wait(driver, peers->stream, err);
}

redtune_status rdt_peers_create(const rdt_context *context, int ranks, int rank, double limit_s,
                                rdt_peers **out, redtune_error *err) {
    const rdt_driver *driver = context->driver;
    const size_t table_bytes = (size_t)ranks * sizeof(uint64_t);
    size_t bytes = mailbox_bytes(ranks) + table_bytes + NUMBERS_BYTES;
    if (bytes < MEMORY_BYTES_MIN) bytes = MEMORY_BYTES_MIN;
    rdt_peers *peers = calloc(1, sizeof *peers);
    if (!peers) return rdt_fail_memory(err, sizeof *peers);
    peers->context = context;
    peers->opened = calloc((size_t)ranks, sizeof *peers->opened);
    redtune_status status = peers->opened ? REDTUNE_OK : rdt_fail_memory(err, table_bytes);
    if (!status) status = rdt_stream_create(driver, &peers->stream, err);
    if (!status) status = make_memory(peers, bytes, err);
    if (!status)
        status =
            rdt_buffer_create(driver, (size_t)ranks * sizeof(rdt_peer_card), &peers->cards, err);
    if (status) {
        rdt_peers_destroy(peers, false);
        return status;
    }
    const CUdeviceptr table = peers->memory.address + mailbox_bytes(ranks);
    peers->links = (rdt_links){
        .mailboxes = table,
        .own = peers->memory.address,
        .epoch = table + table_bytes,
        .failure = table + table_bytes + sizeof(uint64_t),
        .limit_ns = (uint64_t)(limit_s * 1e9),
        .ranks = (uint32_t)ranks,
        .rank = (uint32_t)rank,
    };
    *out = peers;
    return REDTUNE_OK;
}

void rdt_peers_destroy(rdt_peers *peers, bool lost) {
    if (!peers) return;
    const rdt_driver *driver = peers->context->driver;
    for (uint32_t i = 0; i < peers->links.ranks && !lost; i++)
        if (peers->opened[i]) driver->ipc_close_mem_handle(peers->opened[i]);
    if (!lost) {
        rdt_buffer_destroy(&peers->memory);
        rdt_buffer_destroy(&peers->cards);
        rdt_stream_destroy(driver, peers->stream);
    }
    free(peers->opened);
    free(peers);
}

/* ---- cards ----------------------------------------------------------------------------------- */

static CUdeviceptr card_address(const rdt_peers *peers) {
    return peers->cards.address + peers->links.rank * sizeof(rdt_peer_card);
}

redtune_status rdt_peers_put_card(rdt_peers *peers, const rdt_peer_card *card, redtune_error *err) {
    return rdt_buffer_write(peers->context->driver, card_address(peers), card, sizeof *card,
                            peers->stream, err);
}

redtune_status rdt_peers_get_cards(const rdt_peers *peers, rdt_peer_card *cards,
                                   redtune_error *err) {
    return rdt_buffer_read(peers->context->driver, cards, peers->cards.address,
                           peers->links.ranks * sizeof *cards, peers->stream, err);
}

/* The same in all processes of a host, and in no other host's. */
static uint64_t find_host(void) {
    char boot[64] = "";
    rdt_hash hash = rdt_hash_begin();
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file && !fgets(boot, sizeof boot, file)) boot[0] = '\0';
    if (file) fclose(file);
    rdt_hash_add_string(&hash, boot);
    return (uint64_t)hash.state;
}

void rdt_peers_describe(const rdt_peers *peers, rdt_peer_card *out) {
    const rdt_driver *driver = peers->context->driver;
    *out = (rdt_peer_card){
        .host = find_host(),
        .process = (uint64_t)getpid(),
        .context = (uint64_t)(uintptr_t)peers->context->handle,
        .mailbox = peers->memory.address,
        .device = (uint32_t)peers->context->device,
    };
    /* Without a handle other processes cannot open it, and find that. */
    if (driver->ipc_get_mem_handle) driver->ipc_get_mem_handle(&out->shared, peers->memory.address);
}

/* ---- mailboxes ------------------------------------------------------------------------------- */

static bool open_in_process(const rdt_peers *peers, const rdt_peer_card *card) {
    const rdt_driver *driver = peers->context->driver;
    int can = 0;
    if (!driver->device_can_access_peer || !driver->ctx_enable_peer_access ||
        driver->device_can_access_peer(&can, peers->context->device, (CUdevice)card->device) ||
        !can)
        return false;
    CUresult rc = driver->ctx_enable_peer_access((CUcontext)(uintptr_t)card->context, 0);
    return rc == CUDA_SUCCESS || rc == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

static bool open_of_process(rdt_peers *peers, const rdt_peer_card *card, uint32_t rank) {
    const rdt_driver *driver = peers->context->driver;
    return driver->ipc_open_mem_handle && driver->ipc_close_mem_handle &&
           !driver->ipc_open_mem_handle(&peers->opened[rank], card->shared,
                                        CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

static bool open_mailbox(rdt_peers *peers, const rdt_peer_card *own, const rdt_peer_card *card,
                         uint32_t rank, uint64_t *address) {
    *address = card->mailbox;
    if (rank == peers->links.rank) return true;
    if (card->host != own->host) return false;
    if (card->process == own->process) return open_in_process(peers, card);
    const bool opened = open_of_process(peers, card, rank);
    *address = peers->opened[rank];
    return opened;
}

redtune_status rdt_peers_open_mailboxes(rdt_peers *peers, const rdt_peer_card *cards, bool *all,
                                        redtune_error *err) {
    const uint32_t ranks = peers->links.ranks;
    const size_t bytes = ranks * sizeof(uint64_t);
    uint64_t *table = malloc(bytes);
    if (!table) return rdt_fail_memory(err, bytes);
    bool reached = true;
    for (uint32_t i = 0; i < ranks && reached; i++)
        reached = open_mailbox(peers, &cards[peers->links.rank], &cards[i], i, &table[i]);
    redtune_status status = REDTUNE_OK;
    if (reached)
        status = rdt_buffer_write(peers->context->driver, peers->links.mailboxes, table, bytes,
                                  peers->stream, err);
    free(table);
    if (!status) *all = reached;
    return status;
}

redtune_status rdt_peers_find_failure(const rdt_peers *peers, uint32_t *rank, redtune_error *err) {
    return rdt_buffer_read(peers->context->driver, rank, peers->links.failure, sizeof *rank,
                           peers->stream, err);
}
