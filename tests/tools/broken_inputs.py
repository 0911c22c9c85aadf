# SPDX-License-Identifier: Apache-2.0
"""Broken files of every format are refused with exit status 1 or 2 and a message that names file and place."""
import gzip
import io
import os
import pickle
import struct
import zipfile

from clitest import DIGITS, check, done, npy_bytes, path, refused, tenon, write

with open(os.path.join(DIGITS, "digits.onnx"), "rb") as f:
    GOOD = f.read()
IMAGE = f"image={DIGITS}/digit1.npy"


# ---- a protobuf encoder, enough for models ----
def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def num(field, v):
    return varint(field << 3) + varint(v)


def sub(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def value_info(name, dims, elem=1):
    shape = b"".join(sub(1, num(1, d)) for d in dims)
    return sub(1, name) + sub(2, sub(1, num(1, elem) + sub(2, shape)))


def node(op, inputs, outputs, name="", *attrs, domain=""):
    return (b"".join(sub(1, i) for i in inputs) + b"".join(sub(2, o) for o in outputs) + sub(3, name) + sub(4, op) +
            b"".join(sub(5, a) for a in attrs) + (sub(7, domain) if domain else b""))


def attr_int(name, v):
    return sub(1, name) + num(3, v) + num(20, 2)


def attr_ints(name, v):
    return sub(1, name) + b"".join(num(8, x) for x in v) + num(20, 7)


def tensor(name, dims, raw, elem=1, extra=b""):
    return b"".join(num(1, d) for d in dims) + num(2, elem) + sub(8, name) + (sub(9, raw) if raw is not None else b"") + extra


def model(nodes, inputs=None, outputs=None, inits=(), opset=13):
    inputs = [value_info("x", [2, 3])] if inputs is None else inputs
    outputs = [value_info("y", [2, 3])] if outputs is None else outputs
    graph = (b"".join(sub(1, n) for n in nodes) + sub(2, "g") + b"".join(sub(5, t) for t in inits) +
             b"".join(sub(11, i) for i in inputs) + b"".join(sub(12, o) for o in outputs))
    return num(1, 8) + sub(7, graph) + sub(8, num(2, opset))


def onnx(name, data, *texts):
    p = write(name + ".onnx", data)
    refused("onnx: " + name, tenon("compile", p, "-o", path("out.tno")), os.path.basename(p), *texts, status=(1,))


r = tenon("compile", write("good.onnx", model([node("Relu", ["x"], ["y"], "r")])), "-o", path("good.tno"))
check(r.returncode == 0, "the encoder of this test makes good models", r)

nested = sub(1, "a")
for _ in range(2000):  # NodeProto > AttributeProto > GraphProto > NodeProto ... : three messages a turn
    nested = sub(1, node("If", ["x"], ["y"], "n", sub(1, "then_branch") + sub(6, nested) + num(20, 5)))


def deep_graph(levels):
    """Sub-graphs in sub-graphs, built from the outside in with lengths known beforehand."""
    parts, inner = [], 0
    for _ in range(levels):
        for field in (6, 5, 1):  # attribute's graph, node's attribute, graph's node
            head = varint(field << 3 | 2) + varint(inner)
            parts.append(head)
            inner += len(head)
    return num(1, 8) + sub(7, b"".join(reversed(parts))) + sub(8, num(2, 13))


onnx("empty", b"")
onnx("truncated", GOOD[:len(GOOD) // 2])
onnx("noise", bytes((i * 197 + 31) & 255 for i in range(4096)))
onnx("text", b"this is not a model\n" * 20)
onnx("a_length_past_its_parent", sub(7, b"")[:-1] + varint(1 << 40))
onnx("a_length_of_2_to_the_63", varint(7 << 3 | 2) + varint(1 << 63) + b"x" * 64)
onnx("subgraphs_100000_deep", deep_graph(100000), "nest")
onnx("subgraphs_2000_deep", num(1, 8) + sub(7, nested) + sub(8, num(2, 13)))
onnx("no_graph", num(1, 8) + sub(8, num(2, 13)))
onnx("an_unknown_operator", model([node("Frobnicate", ["x"], ["y"], "n1")]), "Frobnicate")
r = tenon("compile", write("wrong_output.onnx", model([node("Relu", ["x"], ["y"], "n1")], [value_info("x", [2, 3])], [value_info("y", [2, 4])])), "-o", path("w.tno"))
check(r.returncode == 0 and "output 'y' is declared as float32[2, 4], and the graph computes float32[2, 3]" in r.stderr,
      "an output that is declared with another shape is told with both", r)
r = tenon("show", "model", write("declared.onnx", model([node("Frobnicate", ["x"], ["y"], "n1")], [value_info("x", [2, 3])], [value_info("y", [2, 3])])))
check(r.returncode == 1 and "Frobnicate" in r.stderr and "input  x" in r.stdout and "float32[2, 3]" in r.stdout and "output y" in r.stdout and
      r.stderr.count("Frobnicate") == tenon("compile", path("declared.onnx")).stderr.count("Frobnicate"), "show model tells what a model declares that cannot be imported", r)
onnx("an_unknown_domain", model([node("Relu", ["x"], ["y"], "n1", domain="com.example")]), "com.example")
onnx("a_missing_input", model([node("Add", ["x", "nowhere"], ["y"], "sum")]), "nowhere", "sum")
onnx("a_negative_extent", model([node("Expand", ["x", "s"], ["y"], "wider")], [value_info("x", [1, 1])],
                                [value_info("y", [2, 3])], [tensor("s", [2], struct.pack("<2q", -1, 3), 7)]), "wider", "-1")
onnx("a_cycle", model([node("Add", ["x", "b"], ["a"], "one"), node("Relu", ["a"], ["b"], "two"), node("Relu", ["b"], ["y"], "out")]),
     "one")
onnx("a_name_defined_twice", model([node("Relu", ["x"], ["y"], "one"), node("Neg", ["x"], ["y"], "two")]), "'y'")
onnx("an_output_nobody_makes", model([node("Relu", ["x"], ["z"], "one")]), "'y'")
onnx("too_few_inputs", model([node("Add", ["x"], ["y"], "sum")]), "sum")
onnx("shapes_that_do_not_fit", model([node("MatMul", ["x", "x"], ["y"], "mm")]), "mm")
onnx("a_bad_attribute", model([node("Softmax", ["x"], ["y"], "s", attr_int("axis", 7))]), "s", "axis")
onnx("a_perm_that_is_none", model([node("Transpose", ["x"], ["y"], "t", attr_ints("perm", [0, 0]))]), "t", "perm")
onnx("an_attribute_of_the_wrong_type", model([node("Softmax", ["x"], ["y"], "s", sub(1, "axis") + sub(4, "one") + num(20, 3))]), "axis")
onnx("an_opset_of_the_future", model([node("Relu", ["x"], ["y"], "r")], opset=999), "999")
onnx("an_unknown_element_type", model([node("Relu", ["x"], ["y"], "r")], inputs=[value_info("x", [2, 3], 99)]))
onnx("a_weight_with_too_few_bytes", model([node("Add", ["x", "w"], ["y"], "sum")], inits=[tensor("w", [2, 3], b"\0" * 20)]), "'w'")
onnx("a_weight_with_a_negative_extent", model([node("Add", ["x", "w"], ["y"], "sum")], inits=[tensor("w", [-2, 3], b"")]), "'w'")
onnx("a_weight_of_2_to_the_66_bytes",
     model([node("Add", ["x", "w"], ["y"], "sum")], inits=[tensor("w", [1 << 32, 1 << 32], b"\0" * 4)]), "'w'")


def external(location, offset=0, length=24):
    entries = b"".join(sub(13, sub(1, k) + sub(2, str(v))) for k, v in (("location", location), ("offset", offset), ("length", length)))
    return model([node("Add", ["x", "w"], ["y"], "sum")], inits=[tensor("w", [2, 3], None, extra=entries + num(14, 1))])


outside = write("outside/secret.bin", b"\0" * 24)
os.makedirs(path("in"), exist_ok=True)
write("in/data.bin", struct.pack("<6f", *range(6)))
os.symlink(outside, path("in/link.bin"))
r = tenon("compile", write("in/ext_good.onnx", external("data.bin")), "-o", path("good.tno"))
check(r.returncode == 0, "external data beside the model is read", r)
onnx("in/ext_outside", external("../outside/secret.bin"), "'w'")
onnx("in/ext_absolute", external(outside), "'w'")
onnx("in/ext_link", external("link.bin"), "'w'")
onnx("in/ext_missing", external("none.bin"), "none.bin")
onnx("in/ext_past_the_end", external("data.bin", offset=8), "'w'")

# ---- artifacts ----
with open(path("good.tno"), "rb") as f:
    TNO = f.read()


def tno(name, data):
    p = write(name + ".tno", data)
    refused("tno: " + name, tenon("run", p), p, status=(1,))


tno("empty", b"")
tno("truncated", TNO[:len(TNO) // 2])
tno("a_header_alone", TNO[:64])
tno("noise", b"\xff" * len(TNO))
tno("another_magic", b"XXXX" + TNO[4:])
for at in (8, 12, 16, 24, 32, 40, 48):
    tno(f"huge_number_at_{at}", TNO[:at] + b"\xff" * 8 + TNO[at + 8:])

# ---- .npy ----
DIGIT_TNO = path("digits.tno")
tenon("compile", os.path.join(DIGITS, "digits.onnx"), "-o", DIGIT_TNO)
NPY = npy_bytes("<f4", (1, 1, 8, 8), [0.0] * 64)


def npy(name, data):
    p = write(name + ".npy", data)
    refused("npy: " + name, tenon("run", DIGIT_TNO, "-i", f"image={p}"), p, status=(1, 2))


npy("empty", b"")
npy("truncated", NPY[:-5])
npy("no_header", NPY[:10])
npy("another_magic", b"\x93NUMPX" + NPY[6:])
npy("a_version_from_the_future", NPY[:6] + b"\x09" + NPY[7:])
npy("a_header_length_too_large", NPY[:8] + b"\xff\xff" + NPY[10:])
npy("objects", NPY.replace(b"'<f4'", b"'|O' "))
npy("huge_shape", NPY.replace(b"(1, 1, 8, 8, )", b"(99999999999,)"))
npy("negative_shape", NPY.replace(b"(1, 1, 8, 8, )", b"(-1, 1, 8, 8,)"))

# ---- text ----
TEXT = '@R.function\ndef main(x: R.Tensor((2, 3), dtype="float32")):\n    y = R.nn.relu(x)\n    return y\n'
r = tenon("check", write("good.py", TEXT))
check(r.returncode == 0, "the text module of this test is good", r)


def text(name, data, *texts):
    p = write(name + ".py", data)
    refused("text: " + name, tenon("check", p), p, *texts, status=(1,))


text("empty", "")
text("truncated", TEXT[:-20])
text("an_unknown_operator", TEXT.replace("nn.relu", "nn.rellu"), ":3:", "nn.relu")
text("an_unknown_variable", TEXT.replace("relu(x)", "relu(z)"), ":3:", "z")
text("no_return", TEXT.replace("    return y\n", ""), ":")
text("a_wrong_annotation", TEXT.replace("y = ", 'y: R.Tensor((3, 2), dtype="float32") = '), ":3:")
text("deep_parentheses", TEXT.replace("R.nn.relu(x)", "(" * 100000 + "x" + ")" * 100000), ":3:")
text("bad_utf8", TEXT.encode().replace(b"relu", b"r\xff\xfelu"), ":3:")
text("a_huge_number", TEXT.replace("(2, 3)", "(2, 9" + "9" * 400 + ")"), ":2:")
text("bad_indentation", TEXT.replace("    return", "  return"), ":")

# ---- files of other kinds, under their own names and under a model's: what each is, and what to do ----
def archive(*names):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for n in names:
            z.writestr(n, "content")
    return out.getvalue()


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 123456\n"
FOREIGN = {  # name: bytes, the words, and whether another name changes what is known of it
    "net.pt": (archive("archive/data.pkl", "archive/version"), ("torch.save", "torch.onnx.export"), False),
    "net.pt2": (archive("net/models/model.json"), ("torch.save", "torch.onnx.export"), True),
    "net.pkl": (pickle.dumps({"a": 1}, 4), ("torch.save",), False),
    "net.keras": (archive("metadata.json", "config.json"), ("a model of Keras", "tf2onnx"), True),
    "net.h5": (b"\x89HDF\r\n\x1a\n" + bytes(64), ("a model of Keras", "tf2onnx"), False),
    "net.whl": (archive("net/__init__.py", "net/net.onnx"), ("a zip archive", "unpack it"), False),
    "net.npz": (archive("a.npy"), ("a zip archive", "unpack it"), False),
    "net.tflite": (b"\x1c\0\0\0TFL3" + bytes(64), ("TensorFlow Lite", "--tflite"), False),
    "net.ort": (b"\x1c\0\0\0ORTM" + bytes(64), ("ONNX Runtime's own format", "made of"), False),
    "net.xml": (b'<?xml version="1.0"?>\n<net name="x" version="11"></net>', ("OpenVINO",), True),
    "net.lfs": (LFS, ("a pointer of Git LFS", "git lfs pull"), False),
    "net.onnx.gz": (gzip.compress(GOOD), ("compressed by gzip", "gunzip"), False),
    "net.html": (b"<!DOCTYPE html><html><body>404</body></html>", ("a page of HTML", "download"), False),
}
for name, (data, words, by_name) in FOREIGN.items():
    for as_name in (name,) if by_name else (name, "net.onnx", "net.gguf", "net"):
        refused(f"{name} as {as_name}", tenon("compile", write(as_name, data), "-o", path("no.tno")), as_name + ": ", "hint: ", *words)

done()
