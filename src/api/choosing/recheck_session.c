/* Recheck session: an evaluator in which configs are measured again.
 *
 * In this process it is a local evaluator in the caller's context; in a worker, a remote one.
 * Kernels are compiled here in both cases, and their time is taken off the clock: a limit on
 * verifying must not depend on what the kernel cache has. */
#include "api/choosing/recheck_session.h"

#include "base/clock.h"

double rdt_recheck_session_clock_s(const rdt_recheck_session *self) {
    return rdt_clock_s() - self->made_s;
}

static double clock_s(void *user) { return rdt_recheck_session_clock_s(user); }

/* ---- this process ---------------------------------------------------------------------------- */

static redtune_status make_kernel(void *user, const redtune_problem *problem,
                                  const rdt_point *point, const rdt_launch *launch,
                                  rdt_kernel **out, redtune_error *err) {
    rdt_recheck_session *self = user;
    double before = rdt_clock_s();
    redtune_status status =
        rdt_builder_make(self->rt->builder, self->rt->context, problem, point, launch, out, err);
    self->made_s += rdt_clock_s() - before;
    return status;
}

static void be_at(void *user, size_t candidate) { ((rdt_recheck_session *)user)->at = candidate; }

/* ---- a worker -------------------------------------------------------------------------------- */

/* Kernels are made here, where the worker finds them in the cache: its own making would count. */
static redtune_status make_ahead(const rdt_recheck_session *self, const redtune_problem *problem,
                                 const rdt_point *point, redtune_error *err) {
    rdt_builder *builder = self->rt->builder;
    rdt_case at = {problem, &self->rt->context->facts};
    bool ptx = self->ready.ptx;
    rdt_point baseline;
    redtune_status status = rdt_builder_store(builder, at, point, ptx, err);
    if (status == REDTUNE_COMPILER) status = REDTUNE_OK; /* the worker finds that, too */
    if (!status) status = rdt_rules_default(self->codegen, at, &baseline, err);
    if (!status) status = rdt_builder_store(builder, at, &baseline, ptx, err);
    return status;
}

redtune_status rdt_recheck_session_open(rdt_recheck_session *self, redtune_error *err) {
    if (!self->worker) return REDTUNE_OK;
    rdt_cache_file_open(&self->rt->log, &self->cache_file);
    self->options = (rdt_worker_options){self->worker, self->cache_file.path, &self->rt->log};
    self->workers = (rdt_worker_pool){.options = &self->options, .limit_s = self->step_s};
    redtune_status status =
        rdt_remote_open(&self->workers, self->rt->context->name, &self->remote, err);
    return status ? status : rdt_remote_ready(self->remote, &self->ready, err);
}

void rdt_recheck_session_close(rdt_recheck_session *self) {
    rdt_local_destroy(self->local);
    rdt_remote_close(self->remote);
    if (self->worker) rdt_cache_file_close(&self->cache_file);
}

redtune_status rdt_recheck_session_furnish(rdt_recheck_session *self, const rdt_domain *domain,
                                           redtune_error *err) {
    const rdt_local_parts parts = {
        .context = self->rt->context,
        .maker = {self->codegen, make_kernel, self},
        .memory_bytes = self->memory_bytes,
        .at = be_at,
        .at_user = self,
    };
    if (!self->worker)
        return rdt_local_replace(&self->local, &parts, domain, &self->evaluator, err);
    self->evaluator = rdt_remote_evaluator(self->remote, 0, domain);
    return REDTUNE_OK;
}

/* ---- rechecking ------------------------------------------------------------------------------ */

redtune_status rdt_recheck_session_recheck(rdt_recheck_session *self,
                                           const redtune_problem *problem, rdt_cache_state cache,
                                           const rdt_point *point, double limit_s,
                                           rdt_rechecked *out, redtune_error *err) {
    const rdt_recheck wanted = {
        .search = {.evaluator = &self->evaluator,
                   .codegen = self->codegen,
                   .facts = &self->rt->context->facts,
                   .problem = problem,
                   .cache = cache},
        .limit_s = limit_s,
        .clock_s = clock_s,
        .user = self,
        .at = self->worker ? NULL : &self->at,
    };
    redtune_status status = REDTUNE_OK;
    double before = rdt_clock_s();
    if (self->worker) status = make_ahead(self, problem, point, err);
    self->made_s += rdt_clock_s() - before;
    return status ? status : rdt_recheck_run(&wanted, point, out, err);
}

redtune_status rdt_recheck_session_origin(const rdt_recheck_session *self, rdt_origin *out,
                                          redtune_error *err) {
    rdt_origin origin = {.driver_version = self->rt->context->facts.driver_version};
    rdt_text_copy(origin.build, sizeof origin.build, rdt_codegen_build());
    rdt_text_copy(origin.machine, sizeof origin.machine, self->rt->machine);
    rdt_text_copy(origin.templates, sizeof origin.templates, rdt_codegen_hash(self->codegen));
    redtune_status status = rdt_builder_nvrtc(self->rt->builder, &origin.nvrtc_version, err);
    if (!status) *out = origin;
    return status;
}
