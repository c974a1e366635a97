/* Special: the special registers that a kernel may read, as one table. */
#pragma once

/* The first ones are known when a warp starts; those after CLOCK change as it runs. */
#define SIM_SPECIAL_LIST(X)                                                                        \
    X(TID_X, "%tid.x")                                                                             \
    X(TID_Y, "%tid.y")                                                                             \
    X(TID_Z, "%tid.z")                                                                             \
    X(NTID_X, "%ntid.x")                                                                           \
    X(NTID_Y, "%ntid.y")                                                                           \
    X(NTID_Z, "%ntid.z")                                                                           \
    X(CTAID_X, "%ctaid.x")                                                                         \
    X(CTAID_Y, "%ctaid.y")                                                                         \
    X(CTAID_Z, "%ctaid.z")                                                                         \
    X(NCTAID_X, "%nctaid.x")                                                                       \
    X(NCTAID_Y, "%nctaid.y")                                                                       \
    X(NCTAID_Z, "%nctaid.z")                                                                       \
    X(LANEID, "%laneid")                                                                           \
    X(WARPID, "%warpid")                                                                           \
    X(NWARPID, "%nwarpid")                                                                         \
    X(SMID, "%smid")                                                                               \
    X(NSMID, "%nsmid")                                                                             \
    X(GRIDID, "%gridid")                                                                           \
    X(LANEMASK_EQ, "%lanemask_eq")                                                                 \
    X(LANEMASK_LT, "%lanemask_lt")                                                                 \
    X(LANEMASK_LE, "%lanemask_le")                                                                 \
    X(LANEMASK_GT, "%lanemask_gt")                                                                 \
    X(LANEMASK_GE, "%lanemask_ge")                                                                 \
    X(DYNAMIC_SMEM, "%dynamic_smem_size")                                                          \
    X(TOTAL_SMEM, "%total_smem_size")                                                              \
    X(CLUSTERID_X, "%clusterid.x")                                                                 \
    X(NCLUSTERID_X, "%nclusterid.x")                                                               \
    X(CLUSTER_CTAID_X, "%cluster_ctaid.x")                                                         \
    X(CLUSTER_NCTAID_X, "%cluster_nctaid.x")                                                       \
    X(CLUSTER_CTARANK, "%cluster_ctarank")                                                         \
    X(CLUSTER_NCTARANK, "%cluster_nctarank")                                                       \
    X(CLOCK, "%clock")                                                                             \
    X(CLOCK64, "%clock64")                                                                         \
    X(GLOBALTIMER, "%globaltimer")

typedef enum sim_special {
#define X(id, name) SIM_SPECIAL_##id,
    SIM_SPECIAL_LIST(X)
#undef X
        SIM_SPECIAL_COUNT
} sim_special;
