/* Peers: the memory through which the ranks of a team hand each other messages, where all their
 * GPUs reach that of all others. */
#pragma once

#include "gpu/buffer.h"
#include "gpu/context.h"
#include "model/launch.h"

/* What a rank tells the others of its mailbox. */
typedef struct rdt_peer_card {
    uint64_t host, process; /* where it is */
    uint64_t context;       /* the handle, for ranks of the same process */
    uint64_t mailbox;       /* the address, likewise */
    CUipcMemHandle shared;  /* for those of other processes of the host */
    uint32_t device;
    uint32_t ready; /* 1: the rank reaches all mailboxes */
    double ns[2];   /* of a run through NCCL, and through mailboxes; 0: not measured */
    uint64_t spare[1];
} rdt_peer_card;
_Static_assert(sizeof(rdt_peer_card) == 128, "a card is gathered as it lies in memory");

typedef struct rdt_peers {
    const rdt_context *context;
    rdt_buffer memory;   /* the mailbox, the table of all, the number of runs, the failure */
    rdt_buffer cards;    /* of all ranks, to be gathered */
    CUdeviceptr *opened; /* of each rank: what was opened of another process; 0: nothing */
    CUstream stream;
    rdt_links links;
} rdt_peers;

/* All in the rank's context, which is current. */
redtune_status rdt_peers_create(const rdt_context *context, int ranks, int rank, double limit_s,
                                rdt_peers **out, redtune_error *err);
/* No rank may still send. lost: the context is gone. */
void rdt_peers_destroy(rdt_peers *peers, bool lost);

/* This rank's card, put where the gather takes it from. */
redtune_status rdt_peers_put_card(rdt_peers *peers, const rdt_peer_card *card, redtune_error *err);
/* The cards of all ranks, once they are gathered. */
redtune_status rdt_peers_get_cards(const rdt_peers *peers, rdt_peer_card *cards,
                                   redtune_error *err);
/* What the others need to know of this rank's mailbox. */
void rdt_peers_describe(const rdt_peers *peers, rdt_peer_card *out);
/* Opens the mailboxes of all ranks. Whether this rank reaches them all. */
redtune_status rdt_peers_open_mailboxes(rdt_peers *peers, const rdt_peer_card *cards, bool *all,
                                        redtune_error *err);
/* 1 + the rank whose message did not come in time; 0: all did. */
redtune_status rdt_peers_find_failure(const rdt_peers *peers, uint32_t *rank, redtune_error *err);
