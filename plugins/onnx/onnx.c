/* SPDX-License-Identifier: Apache-2.0 */
/* The ONNX importer. */
#include "tenon/base/status.h"

typedef int onnx_not_empty;
