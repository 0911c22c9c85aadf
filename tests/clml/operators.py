# SPDX-License-Identifier: Apache-2.0
"""Each operator that CLML takes, alone: that it is dispatched, to which entry, and its results; what only looks like one; and
that cheap ones alone stay kernels."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from clmltest import INI, PLUGINS, TARGET, layer, log_of, wrong  # noqa: E402
from clitest import check, done, path, tenon, write  # noqa: E402
from clmlnet import ALL, net, numbers, run  # noqa: E402

X = (1, 6, 7, 5)  # no multiple of four anywhere
CONV = f"c = R.nn.conv2d(x, {numbers(5, 6, 3, 3)}, strides=[2, 1], padding=[1, 0, 2, 1], dilation=[1, 2])"
BN = f"{numbers(5)}, {numbers(5)}, {numbers(5)}, R.const([1.0, 2.0, 0.5, 1.5, 0.25], \"float32\"), axis=1, epsilon=0.01, training=False"
BIAS = f"b = R.add(c, {numbers(1, 5, 1, 1)})"

# name: inputs, body, operations
GO = {
    "convolution": ([X], [CONV, "gv = c"], ["ConvolutionForward"]),
    "convolution with bias": ([X], [CONV, f"gv = R.add(c, {numbers(5, 1, 1)})"], ["ConvolutionForward"]),
    "convolution with relu": ([X], [CONV, "gv = R.nn.relu(c)"], ["FusedConvolutionActivationForward"]),
    "convolution with bias and relu6": ([X], [CONV, BIAS, "gv = R.clip(b, 0, 6)"], ["FusedConvolutionActivationForward"]),
    "convolution with another clip": ([X], [CONV, BIAS, "gv = R.clip(b, -0.125, 0.25)"], ["ConvolutionForward", "Clip"]),
    "convolution with pad": ([X], [f"p = R.nn.pad(x, [0, 0, 0, 0, 1, 2, 3, 0])",
                                   f"gv = R.nn.conv2d(p, {numbers(5, 6, 2, 3)}, padding=[1, 0, 0, 1])"], ["ConvolutionForward"]),
    "convolution with batch norm": ([X], [CONV, f"n = R.nn.batch_norm(c, {BN})", "gv = n[0]"],
                                    ["FusedConvolutionBatchNormForward"]),
    "convolution with all of these": ([X], [CONV, BIAS, f"n = R.nn.batch_norm(b, {BN})", "gv = R.nn.relu(n[0])"],
                                      ["FusedConvolutionBatchNormActivationForward"]),
    "depthwise": ([X], [f"gv = R.nn.conv2d(x, {numbers(6, 1, 3, 2)}, groups=6, padding=[1, 1, 1, 1])"], ["ConvolutionForward"]),
    "depthwise with bias and relu": ([X], [f"c = R.nn.conv2d(x, {numbers(6, 1, 3, 3)}, groups=6)",
                                           f"gv = R.nn.relu(R.add(c, {numbers(1, 6, 1, 1)}))"], ["FusedConvolutionActivationForward"]),
    "transposed": ([X], [f"gv = R.nn.conv2d_transpose(x, {numbers(6, 5, 3, 2)}, strides=[2, 1], padding=[1, 0, 1, 0])"],
                   ["ConvolutionForward"]),
    "batch norm": ([(1, 5, 3, 3)], [f"n = R.nn.batch_norm(x, {BN})", "gv = n[0]"], ["BatchNormForward"]),
    "largest of windows": ([X], ["gv = R.nn.max_pool2d(x, pool_size=[3, 2], strides=[2, 1], padding=[1, 0, 1, 1])"], ["PoolingForward"]),
    "average of windows": ([X], ["gv = R.nn.avg_pool2d(x, pool_size=[2, 3], strides=[1, 2], padding=[1, 1, 0, 1])"], ["PoolingForward"]),
    "average of all": ([X], ["gv = R.mean(x, axis=[2, 3], keepdims=True)"], ["PoolingForward"]),
    "average of all, adaptive": ([X], ["gv = R.nn.adaptive_avg_pool2d(x, output_size=[1, 1])"], ["PoolingForward"]),
    "product": ([(3, 7)], [f"gv = R.matmul(x, {numbers(7, 5)})"], ["Gemm", "Reshape"]),
    "dense": ([(1, 7)], [f"gv = R.add(R.matmul(x, {numbers(7, 5)}), {numbers(5)})"], ["FullyConnected"]),
    "relu": ([X], ["gv = R.nn.relu(x)"], ["ActivationForward"]),
    "clip": ([X], ["gv = R.clip(x, 0.25, 0.5)"], ["Clip"]),
    "reshape": ([X], ["gv = R.reshape(x, R.shape([5, 42]))"], ["Reshape"]),
    "flatten": ([X], ["gv = R.nn.batch_flatten(x)"], ["Reshape"]),
    "resize, half pixels": ([X], ["gv = R.image.resize2d(x, R.shape([9, 4]), method=\"linear\", "
                                  "coordinate_transformation_mode=\"half_pixel\")"], ["ResizeBilinear"]),
    "resize, corners": ([X], ["gv = R.image.resize2d(x, R.shape([9, 4]), method=\"linear\", "
                              "coordinate_transformation_mode=\"align_corners\")"], ["ResizeBilinear"]),
    "resize, asymmetric": ([X], ["gv = R.image.resize2d(x, R.shape([9, 4]), method=\"linear\", "
                                 "coordinate_transformation_mode=\"asymmetric\")"], ["ResizeBilinear"]),
}
for f in ("add", "subtract", "multiply", "divide", "minimum", "maximum"):
    GO[f] = ([X, X], [f"gv = R.{f}(x, y)"], ["Binary"])
for axis in range(4):
    GO[f"concat, axis {axis}"] = ([X, X, X], [f"gv = R.concat((x, y, z), axis={axis})"], ["Concat"])
GO["softmax, channels"] = ([(2, 7)], ["gv = R.nn.softmax(x, axis=1)"], ["Softmax"])
GO["softmax, columns"] = ([(2, 3, 7)], ["gv = R.nn.softmax(x, axis=2)"], ["Softmax", "Reshape"])


def file_of(name):
    return name.replace(" ", "_").replace(",", "")


for name, (shapes, body, calls) in GO.items():
    model = net(file_of(name), list(zip("xyz", shapes)), body)
    r = tenon("opt", model, "-p", "CLMLDispatch{min_work=0}", "-t", "clml", "--config", INI)
    check("call_dps_packed" in r.stdout, name + ": dispatched", r)
    run(file_of(name), model, calls)

HALF = net("half", [("x", X)], [CONV.replace("float32", "float16"), "gv = R.nn.relu(c)"], dtype="float16")
run("half", HALF, ["FusedConvolutionActivationForward"], close=("2e-2", "2e-2"))

# What the extension does not do the same way.
STAY = {
    "grouped convolution": ([X], [f"gv = R.nn.conv2d(x, {numbers(4, 3, 3, 3)}, groups=2)"]),
    "depthwise with a multiplier": ([X], [f"gv = R.nn.conv2d(x, {numbers(12, 1, 3, 3)}, groups=6)"]),
    "grouped transposed convolution": ([X], [f"gv = R.nn.conv2d_transpose(x, {numbers(6, 2, 3, 3)}, groups=3)"]),
    "weights that are no constants": ([X, (5, 6, 3, 3)], ["gv = R.nn.conv2d(x, y)"]),
    "pooling with dilation": ([X], ["gv = R.nn.max_pool2d(x, pool_size=[2, 2], dilation=[2, 1])"]),
    "average that counts padding": ([X], ["gv = R.nn.avg_pool2d(x, pool_size=[2, 2], padding=[1, 1, 1, 1], count_include_pad=True)"]),
    "average without kept dimensions": ([X], ["gv = R.mean(x, axis=[2, 3])"]),
    "average over other axes": ([X], ["gv = R.mean(x, axis=[1, 3], keepdims=True)"]),
    "nearest resize": ([X], ["gv = R.image.resize2d(x, R.shape([9, 4]), method=\"nearest_neighbor\")"]),
    "arithmetic with broadcasting": ([X, (1, 6, 1, 1)], ["gv = R.add(x, y)"]),
    "five dimensions": ([(1, 2, 3, 2, 2)], ["gv = R.nn.relu(x)"]),
    "no dimensions left": ([(0, 2)], ["gv = R.nn.relu(x)"]),
}
for name, (shapes, body) in STAY.items():
    r = tenon("opt", net("stay", list(zip("xyz", shapes)), body), "-p", "CLMLDispatch{min_work=0}", "-t", "clml", "--config", INI)
    check(r.returncode == 0 and "call_dps_packed" not in r.stdout, name + ": left alone", r)

# The threshold: what groups do for each element that is copied.
ALONE = {
    "a reshape": ([X], ["gv = R.reshape(x, R.shape([5, 42]))"]),
    "an addition": ([X, X], ["gv = R.add(x, y)"]),
    "much arithmetic": ([X, X], ["a = R.add(x, y)", "b = R.multiply(a, x)", "c = R.nn.relu(b)", "d = R.subtract(c, y)", "gv = R.maximum(d, a)"]),
    "a softmax": ([(2, 7)], ["gv = R.nn.softmax(x, axis=1)"]),
    "small windows": ([X], ["gv = R.nn.max_pool2d(x, pool_size=[2, 2], strides=[2, 2])"]),
    "a convolution of one channel": ([(1, 1, 8, 8)], [f"gv = R.nn.conv2d(x, {numbers(1, 1, 1, 1)})"]),
}
for name, (shapes, body) in ALONE.items():
    model = net("alone", list(zip("xyz", shapes)), body)
    r = tenon("opt", model, "-p", "CLMLDispatch", "-t", "clml", "--config", INI, "-o", path("alone_out.py"), "--log", "info")
    text = open(path("alone_out.py")).read()
    check(r.returncode == 0 and "call_dps_packed" not in text and "left to kernels: " in r.stderr, name + " alone stays a kernel", r)
    check(tenon("diff", model, path("alone_out.py"), "--exec").returncode == 0, name + " alone: put back as it was")
    r = tenon("opt", model, "-p", "CLMLDispatch{min_work=0}", "-t", "clml", "--config", INI)
    check("call_dps_packed" in r.stdout, name + " alone: goes without the threshold", r)
NEIGHBOURS = net("neighbours", [("x", X), ("y", X)], [
    f"c = R.nn.conv2d(x, {numbers(6, 6, 3, 3)}, padding=[1, 1, 1, 1])", "s = R.add(c, y)", "q = R.nn.softmax(s, axis=1)",
    "r = R.sin(q)", "gv = R.multiply(r, x)"])
r = tenon("opt", NEIGHBOURS, "-p", "CLMLDispatch", "-t", "clml", "--config", INI)
check(r.stdout.count("call_dps_packed(") == 1 and "R.multiply" in r.stdout.split("def main")[1], "beside a convolution cheap ones go", r)
tno = run("neighbours", NEIGHBOURS, ["ConvolutionForward", "Binary", "Softmax"], config=INI)
r = tenon("compile", NEIGHBOURS, "-t", "clml", "-o", path("high.tno"), "--log", "info", "--config",
          write("high.ini", TARGET + "[pass CLMLDispatch]\nmin_work = 1000\n"))
check(r.returncode == 0 and "left to kernels: nn.conv2d, add, nn.softmax" in r.stderr, "the threshold is a setting", r)

# Recordings are released, one for each that was made.
made = [sum(l.startswith(f"cl{what}RecordingQCOM") for l in log_of("neighbours")) for what in ("New", "End", "Release")]
check(made == [1, 1, 1], f"recordings made, ended, released: {made}")
for name in ("clNewRecordingQCOM", "clEndRecordingQCOM", "clEnqueueMLOpQCOM:2", "clEnqueueRecordingMLOpQCOM"):
    r = tenon("run", tno, "--plugin-path", PLUGINS, env=layer("fault", FAIL=name))
    check(r.returncode == 1 and not [l for l in wrong("fault") if l.startswith("leaked")], name + " fails: no recording is left", r)
done()
