/* SPDX-License-Identifier: Apache-2.0 */
/* The broken passes as a plugin, for tests of the command line. */
#include "broken.h"

TN_PLUGIN(broken, "0.1.0", "Apache-2.0", "passes that break modules", .passes = broken_passes,
          .n_passes = N_ALL_PASSES);
