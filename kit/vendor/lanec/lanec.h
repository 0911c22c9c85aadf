/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#ifndef LANEC_H
#define LANEC_H

#include "tenon/kit/emit.h"

extern const tnk_dialect lanec_dialect;

#endif
