// Team: reductions over the parts of arrays that the ranks of several processes hold.
//
// A team makes a plan for each kind of problem when that is first run, and keeps it: ranks may be
// given parts of any lengths, so that a plan serves all lengths of one power of two.
#include "team.h"

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "redtune/team.h"
#include "runtime.h"
#include "list.h"

namespace {

struct team;
std::set<team *> live; // those whose C team is there

// A problem's plan, by all of the problem but the lower bits of a whole array's count.
struct team_plan {
    redtune_problem key;
    redtune_plan *plan;
};

struct team {
    redtune *rt = nullptr;
    redtune_team *own = nullptr;
    int device = 0;
    int users = 0; // calls of other threads that are within it
    std::vector<team_plan> plans;

    ~team() { close(); }
    void close() {
        for (team_plan &each : plans)
            if (!ending_is_inherited()) redtune_plan_destroy(each.plan);
        plans.clear();
        if (!ending_is_inherited()) redtune_team_destroy(own);
        own = nullptr;
        live.erase(this);
    }
};

redtune_team *opened(const team &self) {
    if (!self.own) fail(PyExc_RuntimeError, "cannot use the team: it is closed");
    return self.own;
}

void refuse_users(const team &self, const char *verb) {
    if (self.users)
        fail(PyExc_RuntimeError,
             "cannot %s the team: another thread is in a call of it; give each thread a team of "
             "its own, or have them take turns",
             verb);
}

// A call that may give the GIL back, so that another thread could close the team.
class using_team {
  public:
    explicit using_team(team &its) : self(its), own(opened(its)) { self.users++; }
    ~using_team() { self.users--; }
    using_team(const using_team &) = delete;

  private:
    team &self;

  public:
    redtune_team *const own;
};

// ---- making ------------------------------------------------------------------------------------

nb::bytes make_id() {
    redtune_team_id id;
    call_without_gil([&](redtune_error *err) { return redtune_team_make_id(&id, err); });
    return nb::bytes(id.bytes, sizeof id.bytes);
}

team *make_team(int device, nb::handle id, int ranks, int rank, double wait_s, uint64_t results) {
    auto self = std::make_unique<team>();
    redtune_team_id own = {};
    redtune_team_options options = {};
    options.wait_s = wait_s;
    options.results = results;
    if (!id.is_none()) {
        if (!PyBytes_Check(id.ptr()) || PyBytes_Size(id.ptr()) != sizeof own.bytes)
            fail(PyExc_TypeError, "cannot make a team: id is not what redtune.Team.make_id gave");
        memcpy(own.bytes, PyBytes_AsString(id.ptr()), sizeof own.bytes);
    }
    self->rt = runtime_get(device);
    self->device = device;
    const redtune_team_id *known = id.is_none() ? nullptr : &own;
    call_without_gil([&](redtune_error *err) { // waits for the other ranks
        return redtune_team_join(self->rt, known, ranks, rank, &options, &self->own, err);
    });
    live.insert(self.get());
    return self.release();
}

void connect(team &self) {
    refuse_users(self, "connect");
    using_team used(self);
    call_without_gil([&](redtune_error *err) { return redtune_team_connect(&used.own, 1, err); });
}

nb::tuple info_of(const team &self) {
    redtune_team_info info;
    redtune_team_get(opened(self), &info);
    return nb::make_tuple(info.ranks, info.rank, info.nccl_version, info.by_peers != 0,
                          info.nccl_ns, info.peers_ns);
}

// ---- running -----------------------------------------------------------------------------------

redtune_problem key_of(const redtune_problem &problem) {
    redtune_problem key = problem;
    uint64_t &count = key.reduced[0].size;
    if (!key.kept_axes && !key.steps && key.reduced_axes && count)
        count = uint64_t{1} << (63 - __builtin_clzll(count));
    return key;
}

bool same_axes(const redtune_axis *a, const redtune_axis *b, uint32_t count) {
    return !memcmp(a, b, count * sizeof *a);
}

// Beyond their axes problems hold what was there before.
bool same_key(const redtune_problem &a, const redtune_problem &b) {
    return !memcmp(&a, &b, offsetof(redtune_problem, kept)) &&
           same_axes(a.kept, b.kept, a.kept_axes) &&
           same_axes(a.reduced, b.reduced, a.reduced_axes);
}

// may_make: no stream of this thread is captured.
redtune_plan *plan_for(team &self, const redtune_problem &problem, bool may_make) {
    const redtune_problem key = key_of(problem);
    for (const team_plan &each : self.plans)
        if (same_key(each.key, key)) return each.plan;
    if (!may_make)
        fail(PyExc_RuntimeError, "cannot reduce by the team for the first time while a graph is "
                                 "captured: call it once before");
    redtune_plan *made = nullptr;
    call_without_gil([&](redtune_error *err) {
        redtune_status status = redtune_plan_create(self.rt, &problem, &made, err);
        if (!status) status = redtune_team_prepare(made, err);
        if (status) redtune_plan_destroy(made);
        return status;
    });
    self.plans.push_back({key, made});
    return made;
}

void check_place(const team &self, const array &x) {
    if (x.on_host)
        fail(PyExc_ValueError, "cannot reduce an array of the host by a team; copy it to the GPU "
                               "of this rank");
    if (x.device != self.device)
        fail(PyExc_ValueError,
             "cannot reduce x by the team: it lies on GPU %d, and the team's rank is on GPU %d",
             x.device, self.device);
}

// The part's elements count from `first` on.
nb::object reduce(team &self, int op, nb::handle x, nb::handle y, nb::handle axis, bool keepdims,
                  nb::handle out, int dtype, int order, int accuracy, nb::handle stream,
                  nb::handle parameters, nb::handle where, uint64_t first, bool may_make) {
    array in, second;
    mask_view mask;
    outputs results;
    reduction what;
    refuse_users(self, "run");
    using_team used(self);
    read_inputs(op_get(op), x, y, &in, &second);
    if (!y.is_none()) second.broadcast_to(in); // not x, which says what this rank's part is
    const array *other = y.is_none() ? nullptr : &second;
    check_place(self, in);
    results.choose(&what, op, in, static_cast<redtune_dtype>(dtype), out);
    what.problem.order = static_cast<redtune_order>(order);
    what.problem.accuracy = static_cast<redtune_accuracy>(accuracy);
    what.take_parameters(parameters);
    const bool masked = what.take_where(in, where, &mask);
    const others beside(other, masked ? &mask.view : nullptr);
    what.fold(in, beside, axis, keepdims);
    results.take(what, {{"x", &in}, {"y", other}, {"where", masked ? &mask.given : nullptr}}, x,
                 out);
    results.need_packed();
    if (what.is_empty) return results.get(what, in, out);
    redtune_plan *plan = plan_for(self, what.problem, may_make);
    redtune_operands operands = operands_of(what, in, beside, results, parameters);
    put_extents(what.problem, &operands);
    CUstream_st *on = stream_of(in, x, stream);
    call_without_gil([&](redtune_error *err) {
        return redtune_team_run(plan, used.own, &operands, first, on, err);
    });
    return results.get(what, in, out);
}

// The lists of all ranks to one result, or array i of each rank's to result i.
nb::object reduce_list(team &self, nb::handle list, int op, bool each, nb::handle out, int dtype,
                       int order, int accuracy, nb::handle stream, nb::handle parameters,
                       nb::handle where, uint64_t first, bool may_make) {
    list_run its;
    refuse_users(self, "run");
    using_team used(self);
    its.take(list, op, each, out, dtype, order, accuracy, parameters);
    its.take_masks(list, where, true);
    check_place(self, *its.first);
    if (its.rt != self.rt)
        fail(PyExc_RuntimeError,
             "cannot reduce the list by the team: redtune was configured or tuned "
             "after one of them was made; make it anew");
    redtune_plan *plan = plan_for(self, its.what.problem, may_make);
    CUstream_st *on = stream_of(*its.first, its.like, stream);
    call_without_gil([&](redtune_error *err) {
        return redtune_team_run_segments(plan, used.own, &its.segments, first, on, err);
    });
    return its.results.get(its.what, *its.first, out);
}

nb::tuple share(team &self, uint64_t count, int op, int dtype, int order) {
    redtune_problem problem = {};
    problem.op = static_cast<redtune_op>(op);
    problem.dtype = static_cast<redtune_dtype>(dtype);
    problem.order = static_cast<redtune_order>(order);
    set_size(problem, 0, count);
    uint64_t first = 0, part = 0;
    using_team used(self);
    redtune_error err;
    check(redtune_team_share(used.own, plan_for(self, problem, true), count, &first, &part, &err),
          err);
    return nb::make_tuple(first, part);
}

void check_team(team &self) {
    redtune_error err;
    check(redtune_team_check(opened(self), &err), err);
}

void wait(team &self, nb::handle stream, double limit_s) {
    CUstream_st *on = stream_from(stream);
    using_team used(self);
    call_without_gil(
        [&](redtune_error *err) { return redtune_team_wait(used.own, on, limit_s, err); });
}

} // namespace

void team_close_all() {
    while (!live.empty()) (*live.begin())->close();
}

void team_add(nb::module_ &module) {
    nb::class_<team>(module, "Rank")
        .def("reduce", &reduce, nb::arg("op"), nb::arg("x"), nb::arg("y").none(),
             nb::arg("axis").none(), nb::arg("keepdims"), nb::arg("out").none(), nb::arg("dtype"),
             nb::arg("order"), nb::arg("accuracy"), nb::arg("stream").none(),
             nb::arg("parameters").none(), nb::arg("where").none(), nb::arg("first"),
             nb::arg("may_make"), nb::call_guard<calling>())
        .def("reduce_list", &reduce_list, nb::arg("list"), nb::arg("op"), nb::arg("each"),
             nb::arg("out").none(), nb::arg("dtype"), nb::arg("order"), nb::arg("accuracy"),
             nb::arg("stream").none(), nb::arg("parameters").none(), nb::arg("where").none(),
             nb::arg("first"), nb::arg("may_make"), nb::call_guard<calling>())
        .def("share", &share, nb::call_guard<calling>())
        .def("connect", &connect, nb::call_guard<calling>())
        .def("check", &check_team, nb::call_guard<calling>())
        .def("wait", &wait, nb::call_guard<calling>())
        .def("close",
             [](team &self) {
                 refuse_users(self, "close");
                 self.close();
             })
        .def("info", &info_of);
    module.def("team_id", &make_id, nb::call_guard<calling>());
    module.def("make_team", &make_team, nb::arg("device"), nb::arg("id").none(), nb::arg("ranks"),
               nb::arg("rank"), nb::arg("wait_s"), nb::arg("results"), nb::call_guard<calling>());
}
