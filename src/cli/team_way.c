/* Team way: how the ranks of a team on several GPUs of this machine send each other messages.
 *
 * Ranks join on a thread each, since joining waits for all others. They are connected on this one,
 * which is how one thread drives several GPUs. */
#include "cli/team_way.h"

#include <pthread.h>
#include <stdbool.h>
#include "cli/message.h"

/* Held until all threads are there: one that cannot be had would leave the others waiting. */
typedef struct start {
    pthread_mutex_t held;
    bool cancelled;
} start;

typedef struct member {
    redtune *rt;
    start *start;
    const redtune_team_id *id;
    int ranks, rank;
    redtune_team *team;
    redtune_status status;
    redtune_error err;
    pthread_t thread;
} member;

static void *join_one(void *user) {
    member *self = user;
    pthread_mutex_lock(&self->start->held);
    const bool cancelled = self->start->cancelled;
    pthread_mutex_unlock(&self->start->held);
    if (!cancelled)
        self->status = redtune_team_join(self->rt, self->id, self->ranks, self->rank, NULL,
                                         &self->team, &self->err);
    return NULL;
}

static redtune_status join_all(member *members, size_t count, redtune_error *err) {
    start start = {.held = PTHREAD_MUTEX_INITIALIZER};
    redtune_team_id id;
    size_t started = 0;
    redtune_status status = redtune_team_make_id(&id, err);
    if (status) return status;
    pthread_mutex_lock(&start.held);
    for (; started < count && !start.cancelled; started += !start.cancelled) {
        member *each = &members[started];
        each->start = &start;
        each->id = &id;
        each->ranks = (int)count;
        each->rank = (int)started;
        start.cancelled = pthread_create(&each->thread, NULL, join_one, each);
    }
    if (start.cancelled)
        status =
            rdt_message_set(err, REDTUNE_MEMORY, 0,
                            "cannot make a team: no thread can be started for GPU %zu", started);
    pthread_mutex_unlock(&start.held);
    for (size_t i = 0; i < started; i++) pthread_join(members[i].thread, NULL);
    for (size_t i = 0; !status && i < count; i++) {
        status = members[i].status;
        if (status) *err = members[i].err;
    }
    return status;
}

static redtune_status connect_all(member *members, size_t count, redtune_team_info *out,
                                  redtune_error *err) {
    redtune_team *teams[RDT_DEVICES_MAX];
    for (size_t i = 0; i < count; i++) teams[i] = members[i].team;
    redtune_status status = redtune_team_connect(teams, count, err);
    if (!status) redtune_team_get(teams[0], out);
    return status;
}

redtune_status rdt_team_way_find(const rdt_options *options, const rdt_device_list *devices,
                                 redtune_team_info *out, redtune_error *err) {
    member members[RDT_DEVICES_MAX] = {{0}};
    redtune_status status = REDTUNE_OK;
    if (devices->count < 2)
        return rdt_message_set(
            err, REDTUNE_INVALID, 0,
            "cannot say how a team sends: there is one GPU; leave --device %s out",
            options->device);
    for (size_t i = 0; !status && i < devices->count; i++)
        status =
            rdt_device_open(options, devices->name[i], rdt_message_log, NULL, &members[i].rt, err);
    if (!status) status = join_all(members, devices->count, err);
    if (!status) status = connect_all(members, devices->count, out, err);
    for (size_t i = 0; i < devices->count; i++) redtune_team_destroy(members[i].team);
    for (size_t i = 0; i < devices->count; i++) redtune_close(members[i].rt);
    return status;
}
