/* One process for each GPU, started by mpirun or srun: each has a part of the data, and each gets
 * the variance of all of it. MPI hands round NCCL's id and says which GPU is whose, and no more.
 *
 *     mpirun -n 4 team_mpi
 */
#include "example.h"

#include <mpi.h>
#include <nccl.h>
#include <redtune/team.h>
#include "example_nccl.h"

enum { COUNT = 1000000 };
static const double limit_s = 60;

/* The GPU of the process's number among those of its host. */
static CUdevice find_gpu(void) {
    MPI_Comm host;
    CUdevice device;
    int number, count;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &number);
    TRY_CUDA(cuInit(0));
    TRY_CUDA(cuDeviceGetCount(&count));
    TRY_CUDA(cuDeviceGet(&device, number % count));
    return device;
}

static ncclComm_t make_communicator(int rank, int ranks) {
    ncclUniqueId id;
    ncclComm_t comm;
    if (!rank) TRY_NCCL(ncclGetUniqueId(&id));
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    TRY_NCCL(ncclCommInitRank(&comm, ranks, id, rank));
    return comm;
}

/* Every rank has another number of elements, of another value. */
static float variance(redtune *rt, redtune_team *team, int rank, CUstream stream) {
    static float elements[COUNT];
    const uint64_t count = COUNT - 1000 * ((uint64_t)rank % 100);
    const redtune_problem problem = redtune_problem_whole(REDTUNE_VAR, REDTUNE_F32, count);
    redtune_plan *plan;
    redtune_error err;
    float out;
    for (uint64_t i = 0; i < count; i++) elements[i] = (float)rank;
    redtune_operands part = {.d_in = {upload(elements, count * sizeof *elements)},
                             .d_out = {upload(NULL, sizeof out)},
                             .count = count};
    TRY_REDTUNE(redtune_plan_create(rt, &problem, &plan, &err));
    /* A variance has no index: it does not matter where the part begins. */
    TRY_REDTUNE(redtune_team_run(plan, team, &part, 0, stream, &err));
    TRY_REDTUNE(redtune_team_wait(team, stream, limit_s, &err));
    download(&out, part.d_out[0], sizeof out, stream);
    redtune_plan_destroy(plan);
    return out;
}

/* The same by the host. */
static double expected(int ranks) {
    double n = 0, sum = 0, squares = 0;
    for (int rank = 0; rank < ranks; rank++) {
        const double count = COUNT - 1000 * (rank % 100);
        n += count;
        sum += count * rank;
        squares += count * rank * rank;
    }
    return squares / n - sum / n * (sum / n);
}

int main(int argc, char **argv) {
    int rank, ranks;
    CUcontext context;
    redtune_error err;
    redtune *rt;
    redtune_team *team;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    TRY_CUDA(cuDevicePrimaryCtxRetain(&context, find_gpu()));
    TRY_CUDA(cuCtxSetCurrent(context));
    ncclComm_t comm = make_communicator(rank, ranks);
    TRY_REDTUNE(redtune_open(NULL, &rt, &err));
    TRY_REDTUNE(redtune_team_create(rt, comm, NULL, &team, &err));
    const double got = variance(rt, team, rank, make_stream()), wanted = expected(ranks);
    expect(got > wanted - 1e-4 * (wanted + 1) && got < wanted + 1e-4 * (wanted + 1),
           "the variance");
    printf("rank %d of %d: variance of all %.7g\n", rank, ranks, got);
    redtune_team_destroy(team);
    redtune_close(rt);
    TRY_NCCL(ncclCommDestroy(comm));
    MPI_Finalize();
    return EXIT_SUCCESS;
}
