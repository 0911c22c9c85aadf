# SPDX-License-Identifier: Apache-2.0
@R.function
def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
    if c:
        import nothing
    else:
        y = x
    if c:
        y = x = x
    else:
        y = (x
    return y
