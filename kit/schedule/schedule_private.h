/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the schedule core share. Not installed. */
#ifndef TENON_KIT_SCHEDULE_PRIVATE_H
#define TENON_KIT_SCHEDULE_PRIVATE_H

#include "tenon/core/pass.h"

extern const tn_pass tnk_pass_apply_default_schedule;

#endif
