# SPDX-License-Identifier: Apache-2.0
"""The program that lies behind libtool's wrapper in a build tree, and its libraries: a benchmark does not measure the wrapper."""
import os

FOLDERS = ("core/base", "core", "kit", "runtime", "lm")


def unwrapped(tenon):
    """The program, and the folders for LD_LIBRARY_PATH: none, and `tenon` itself, where it is no wrapper."""
    real = os.path.join(os.path.dirname(tenon), ".libs", os.path.basename(tenon))
    if not os.path.exists(real):
        return tenon, []
    top = os.path.dirname(os.path.dirname(os.path.abspath(tenon)))
    return real, [os.path.join(top, d, ".libs") for d in FOLDERS]
