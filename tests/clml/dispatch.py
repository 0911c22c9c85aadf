# SPDX-License-Identifier: Apache-2.0
"""CLMLDispatch from a module to results: the stand-in's layer over an OpenCL device, against the cpu target."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from clmltest import INI, PLUGINS, device_half, layer, log_of  # noqa: E402
from clitest import check, done, path, refused, tenon  # noqa: E402

from clmlnet import net, numbers, run  # noqa: E402

BN = f"{numbers(6)}, {numbers(6)}, {numbers(6)}, R.const([1.0, 2.0, 0.5, 1.5, 3.0, 0.25], \"float32\")"
CNN = net("cnn", [("x", (1, 3, 12, 10))], [
    f"c = R.nn.conv2d(x, {numbers(6, 3, 3, 3)}, strides=[2, 1], padding=[1, 1, 1, 1])",
    f"n = R.nn.batch_norm(R.add(c, {numbers(1, 6, 1, 1)}), {BN}, axis=1, training=False)",
    "r = R.nn.relu(n[0])",
    f"d = R.nn.conv2d(R.nn.pad(r, [0, 0, 0, 0, 1, 1, 1, 1]), {numbers(6, 1, 3, 3)}, groups=6)",
    "d6 = R.clip(d, 0, 6)",
    "p = R.nn.max_pool2d(d6, pool_size=[2, 2], strides=[2, 2])",
    f"t = R.nn.conv2d_transpose(p, {numbers(6, 5, 2, 2)}, strides=[2, 2])",
    "a = R.nn.avg_pool2d(t, pool_size=[3, 3], strides=[1, 1], padding=[1, 1, 1, 1])",
    "s = R.add(t, a)",
    "k = R.concat((s, t), axis=1)",
    "g = R.mean(k, axis=[2, 3], keepdims=True)",
    "f = R.reshape(g, R.shape([1, 10]))",
    f"m = R.add(R.matmul(f, {numbers(10, 7)}), {numbers(7)})",
    "c2 = R.clip(m, -0.25, 0.75)",
    "gv = R.nn.softmax(c2, axis=-1)"])
WANT = ["FusedConvolutionBatchNormActivationForward", "FusedConvolutionActivationForward", "PoolingForward",
        "ConvolutionForward", "PoolingForward", "Binary", "Concat", "PoolingForward", "Reshape", "FullyConnected", "Clip",
        "Softmax"]
tno = run("cnn", CNN, WANT, config=INI)
lines = log_of("cnn")
check("clEnqueueRecordingMLOpQCOM" in lines and all("recorded" in l for l in lines if l.startswith("clEnqueueMLOpQCOM")),
      "operations run as one recording")
run("cnn_v3", CNN, WANT, VERSION=3)
run("cnn_v4", CNN, WANT, VERSION=4)
for sdk in (3, 4):
    run(f"cnn_sdk{sdk}", CNN, WANT, plugins=device_half(f"opencl_clml{sdk}_rt"))
    check(f"clGetMLInterfaceQCOM {sdk}.0" in log_of(f"cnn_sdk{sdk}"), f"built with an SDK of version {sdk}: that is what it takes")

MIXED = net("mixed", [("x", (2, 4, 5, 6)), ("y", (2, 4, 5, 6))], [
    f"a = R.nn.conv2d(x, {numbers(4, 2, 1, 1)}, groups=2)",
    "b = R.subtract(R.nn.relu(a), y)",
    "c = R.sin(b)",
    "d = R.nn.softmax(c, axis=2)",
    "e = R.image.resize2d(d, R.shape([10, 9]), method=\"linear\", coordinate_transformation_mode=\"half_pixel\")",
    "z = R.multiply(e, R.const(2.0, \"float32\"))",
    f"gv = R.matmul(R.reshape(z, R.shape([80, 9])), {numbers(9, 3)})"])
run("mixed", MIXED, ["ActivationForward", "Binary", "Softmax", "Reshape", "ResizeBilinear", "Reshape", "Reshape", "Gemm", "Reshape"])
check(sum(l == "clEnqueueRecordingMLOpQCOM" for l in log_of("mixed")) >= 2,
      "what lies between (a grouped convolution, sin, a product with a number) runs as kernels")

# Without the layer: a refusal that says why, or the plain path where the artifact has one.
r = tenon("run", tno, "--plugin-path", PLUGINS)
refused("without the extension", r, "clml")
r = tenon("run", tno)
refused("a Tenon that was built without it", r, "--with-clml")
both = path("both.tno")
r = tenon("compile", CNN, "-t", "clml,opencl", "-o", both, "--config", INI, "--plugin-path", PLUGINS)
check(r.returncode == 0, "an artifact with both variants", r)
r = tenon("run", both, "--plugin-path", PLUGINS)
check(r.returncode == 0, "runs the plain variant without the extension", r)
r = tenon("run", both, "--plugin-path", PLUGINS, env=layer("both"))
check(r.returncode == 0 and any(l.startswith("clEnqueueRecording") for l in log_of("both")), "and the other with it", r)

# A device that has the vendor's extension, with entries under the same names: not for this build, which calls none of them.
VENDORS = "cl_qcom_ml_ops cl_qcom_recordable_queues cl_qcom_onchip_global_memory"
r = tenon("run", tno, "--plugin-path", PLUGINS, env=layer("vendor", NAMES=VENDORS))
refused("a vendor's device, by a build with the stand-in", r, "lacks 'clml'")
check(not log_of("vendor"), "none of its entries is called: " + "; ".join(log_of("vendor")))
r = tenon("run", both, "--plugin-path", PLUGINS, env=layer("vendor", NAMES=VENDORS))
check(r.returncode == 0 and not log_of("vendor"), "the plain variant runs there", r)

# Failures: each entry once, and an operation that the device does not have.
r = tenon("run", tno, "--plugin-path", PLUGINS, env=layer("refuse", REFUSE="softmax"))
refused("an operation that the device does not have", r, "softmax", "CL_INVALID_OPERATION")
for name in sorted({l.split()[0] for l in log_of("cnn") if l.startswith("cl") and "Release" not in l}):
    r = tenon("run", tno, "--plugin-path", PLUGINS, env=layer("fault", FAIL=name))
    refused(f"{name} fails", r, "CL_OUT_OF_RESOURCES")
    check(not any(l.startswith("leaked") for l in log_of("fault")), f"{name} fails: nothing is left")
done()
