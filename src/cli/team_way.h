/* Team way: how the ranks of a team on several GPUs of this machine send each other messages. */
#pragma once

#include "cli/device.h"
#include "redtune/team.h"

/* Makes a team of those GPUs, which --device names, connects it, which times both ways, and says
 * what it found. Fails where there is one GPU, or no NCCL. */
redtune_status rdt_team_way_find(const rdt_options *options, const rdt_device_list *devices,
                                 redtune_team_info *out, redtune_error *err);
