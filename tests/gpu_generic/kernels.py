# SPDX-License-Identifier: Apache-2.0
"""Test kernels for the device half of gpu_generic, without the code generator: SPIR-V from text, by spirv-as, in the form of
backends/gpu_generic/payload.h.

    python3 kernels.py OUT NAME...     a payload of kernels; NAME is KERNEL[:FLAG]...

FLAGS: addresses, base, block, as payload.h's. Each kernel is a line for each thread, in terms of `element`, `load` and `store`
below; all take memory first, then scalars.
"""
import struct
import subprocess
import sys

BUFFER, SCALAR, REFUSED = 1, 2, 5
ADDRESSES, BASE, BLOCK = 1, 2, 4


class Kernel:
    """One kernel with float32 buffers, and int64 scalars of which the low words count."""

    def __init__(self, name, buffers, scalars, body, flags=0, group=64):
        self.name, self.buffers, self.scalars, self.body = name, buffers, scalars, body
        self.flags, self.group = flags, group

    def places(self):
        """Offsets of the parameters in their block, and its size."""
        end = 12 if self.flags & BASE and not self.flags & BLOCK else 0
        out = []
        for size in [8 if self.flags & ADDRESSES else 4] * len(self.buffers) + [8] * len(self.scalars):
            at = -(-end // size) * size
            out.append(at)
            end = at + size
        return out, end

    def text(self):
        """The module, as spirv-as reads it."""
        flags, places = self.flags, self.places()[0]
        addresses, base, block = flags & ADDRESSES, flags & BASE, flags & BLOCK
        n, m = len(self.buffers), len(self.scalars)
        head = ["OpCapability Shader"]
        if addresses:
            head += ["OpCapability PhysicalStorageBufferAddresses",
                     'OpExtension "SPV_KHR_physical_storage_buffer"']
        head += ['OpExtension "SPV_KHR_storage_buffer_storage_class"',
                 f"OpMemoryModel {'PhysicalStorageBuffer64' if addresses else 'Logical'} GLSL450",
                 'OpEntryPoint GLCompute %main "main" %wid %lid', f"OpExecutionMode %main LocalSize {self.group} 1 1",
                 "OpDecorate %wid BuiltIn WorkgroupId", "OpDecorate %lid BuiltIn LocalInvocationId",
                 "OpDecorate %floats ArrayStride 4", "OpDecorate %data Block", "OpMemberDecorate %data 0 Offset 0"]
        types = ["%void = OpTypeVoid", "%fn = OpTypeFunction %void", "%uint = OpTypeInt 32 0", "%float = OpTypeFloat 32",
                 "%bool = OpTypeBool", "%uvec = OpTypeVector %uint 3", "%pin = OpTypePointer Input %uvec",
                 "%wid = OpVariable %pin Input", "%lid = OpVariable %pin Input", "%floats = OpTypeRuntimeArray %float",
                 "%data = OpTypeStruct %floats"]
        types += [f"%c{i} = OpConstant %uint {i}" for i in range(max(4, n + m + 2))]
        types += [f"%group = OpConstant %uint {self.group}", "%f1 = OpConstant %float 1", "%f2 = OpConstant %float 2",
                  "%thousand = OpConstant %float 1000"]
        if addresses:
            types += ["%pdata = OpTypePointer PhysicalStorageBuffer %data",
                      "%pfloat = OpTypePointer PhysicalStorageBuffer %float"]
            first = "%pdata"
        else:
            types += ["%pdata = OpTypePointer StorageBuffer %data", "%pfloat = OpTypePointer StorageBuffer %float"]
            first = "%uint"
            for i, written in enumerate(self.buffers):
                types.append(f"%b{i} = OpVariable %pdata StorageBuffer")
                head += [f"OpDecorate %b{i} DescriptorSet 0", f"OpDecorate %b{i} Binding {i + 1}"]
                if not written:
                    head.append(f"OpDecorate %b{i} NonWritable")
        # the block of parameters: push constants, or memory that these or binding 0 lead to
        members = [first] * n + ["%uint"] * m
        storage = "PushConstant" if not block else "PhysicalStorageBuffer" if addresses else "StorageBuffer"
        pushed = []
        if block:
            types.append(f"%block = OpTypeStruct {' '.join(members)}")
            head += ["OpDecorate %block Block"] + [f"OpMemberDecorate %block {i} Offset {at}" for i, at in enumerate(places)]
            types.append(f"%pblock = OpTypePointer {storage} %block")
            if base:
                pushed.append(("%uvec", 0))
            if addresses:
                pushed.append(("%pblock", 16))
            else:
                types.append("%bblock = OpVariable %pblock StorageBuffer")
                head += ["OpDecorate %bblock DescriptorSet 0", "OpDecorate %bblock Binding 0", "OpDecorate %bblock NonWritable"]
        else:
            pushed = ([("%uvec", 0)] if base else []) + list(zip(members, places))
        if pushed:
            types += [f"%push = OpTypeStruct {' '.join(t for t, _ in pushed)}", "%ppush = OpTypePointer PushConstant %push",
                      "%pc = OpVariable %ppush PushConstant"]
            head += ["OpDecorate %push Block"] + [f"OpMemberDecorate %push {i} Offset {at}" for i, (_, at) in enumerate(pushed)]
        types += [f"%p_{t[1:]}_{s} = OpTypePointer {s} {t}" for t, s in sorted({(t, storage) for t in members} |
                                                                            {(t, "PushConstant") for t, _ in pushed})]
        code = ["%main = OpFunction %void None %fn", "%entry = OpLabel",
                "%w = OpLoad %uvec %wid", "%l = OpLoad %uvec %lid"]
        if base:
            code += ["%pbase = OpAccessChain %p_uvec_PushConstant %pc %c0", "%base = OpLoad %uvec %pbase",
                     "%ww = OpIAdd %uvec %w %base"]
        w = "%ww" if base else "%w"
        if block and addresses:
            code += [f"%pb = OpAccessChain %p_pblock_PushConstant %pc %c{len(pushed) - 1}", "%bb = OpLoad %pblock %pb"]
        aligned = " Aligned 8" if block and addresses else ""
        for i, t in enumerate(members):
            if block:
                code.append(f"%a{i} = OpAccessChain %p_{t[1:]}_{storage} {'%bb' if addresses else '%bblock'} %c{i}")
            else:
                code.append(f"%a{i} = OpAccessChain %p_{t[1:]}_PushConstant %pc %c{i + (1 if base else 0)}")
            code.append(f"%v{i} = OpLoad {t} %a{i}{aligned}")
        code += [f"%wx = OpCompositeExtract %uint {w} 0", f"%wy = OpCompositeExtract %uint {w} 1",
                 "%lx = OpCompositeExtract %uint %l 0", "%wg = OpIMul %uint %wx %group", "%i = OpIAdd %uint %wg %lx"]
        code += self.lines()
        code += ["OpReturn", "OpFunctionEnd"]
        return "\n".join(head + types + code) + "\n"

    def lines(self):
        """The body, with loads and stores spelled out."""
        out, fresh = [], [0]

        def element(buffer, index):
            fresh[0] += 1
            k = fresh[0]
            if self.flags & ADDRESSES:
                out.append(f"%e{k} = OpAccessChain %pfloat %v{buffer} %c0 {index}")
            else:
                out.append(f"%n{k} = OpIAdd %uint {index} %v{buffer}")
                out.append(f"%e{k} = OpAccessChain %pfloat %b{buffer} %c0 %n{k}")
            return f"%e{k}"

        def load(name, buffer, index="%i"):
            out.append(f"%{name} = OpLoad %float {element(buffer, index)}{' Aligned 4' if self.flags & ADDRESSES else ''}")

        def store(value, buffer, index="%i"):
            out.append(f"OpStore {element(buffer, index)} {value}{' Aligned 4' if self.flags & ADDRESSES else ''}")

        def emit(line):
            out.append(line)

        self.body(self, load, store, emit)
        return out

    def module(self):
        """Words of SPIR-V, as bytes."""
        made = subprocess.run(["spirv-as", "--target-env", "spv1.3", "-", "-o", "-"], input=self.text().encode(),
                              stdout=subprocess.PIPE, check=False)
        if made.returncode:
            sys.exit(f"spirv-as refuses kernel {self.name}:\n{self.text()}")
        return made.stdout

    def record(self):
        """What a payload holds of it."""
        name = self.name.encode() + b"\0"
        name += b"\0" * (-len(name) % 4)
        params = [BUFFER | written << 8 | 4 << 16 for written in self.buffers] + [SCALAR | 8 << 16] * len(self.scalars)
        module = self.module()
        head = struct.pack("<11I", self.flags, len(name) // 4, len(params), 0, len(module) // 4, self.group, 1, 1, 0,
                           self.places()[1], 0)
        return head + name + struct.pack(f"<{len(params)}I", *params) + module


def guarded(kernel, emit, inner):
    """inner() for the threads below the last scalar."""
    emit(f"%in = OpULessThan %bool %i %v{len(kernel.buffers) + len(kernel.scalars) - 1}")
    emit("OpSelectionMerge %end None")
    emit("OpBranchConditional %in %then %end")
    emit("%then = OpLabel")
    inner()
    emit("OpBranch %end")
    emit("%end = OpLabel")


def add(kernel, load, store, emit):
    """z[i] = x[i] + y[i]"""
    def inner():
        load("x", 0)
        load("y", 1)
        emit("%z = OpFAdd %float %x %y")
        store("%z", 2)
    guarded(kernel, emit, inner)


def step(kernel, load, store, emit):
    """y[i] = 2 * x[i] + 1"""
    def inner():
        load("x", 0)
        emit("%x2 = OpFMul %float %x %f2")
        emit("%y = OpFAdd %float %x2 %f1")
        store("%y", 1)
    guarded(kernel, emit, inner)


def count(kernel, load, store, emit):
    """x[i] = x[i] + 1"""
    def inner():
        load("x", 0)
        emit("%y = OpFAdd %float %x %f1")
        store("%y", 0)
    guarded(kernel, emit, inner)


def where(kernel, load, store, emit):
    """x[group x + group y * width] = group x + 1000 * group y, of the first thread of each group"""
    emit("%first = OpIEqual %bool %lx %c0")
    emit("OpSelectionMerge %end None")
    emit("OpBranchConditional %first %then %end")
    emit("%then = OpLabel")
    emit(f"%row = OpIMul %uint %wy %v{len(kernel.buffers)}")
    emit("%at = OpIAdd %uint %row %wx")
    emit("%fx = OpConvertUToF %float %wx")
    emit("%fy = OpConvertUToF %float %wy")
    emit("%k = OpFMul %float %fy %thousand")
    emit("%v = OpFAdd %float %fx %k")
    store("%v", 0, "%at")
    emit("OpBranch %end")
    emit("%end = OpLabel")


SOURCES = {"add_f32": ((0, 0, 1), 1, add), "step": ((0, 1), 1, step), "count": ((1,), 1, count), "where": ((1,), 1, where)}


def kernel(spec):
    """The kernel of KERNEL[:FLAG]..."""
    name, *flags = spec.split(":")
    buffers, scalars, body = SOURCES[name]
    bits = {"addresses": ADDRESSES, "base": BASE, "block": BLOCK}
    return Kernel(name, buffers, [8] * scalars, body, sum(bits[f] for f in flags))


def payload(kernels):
    """All of them as one payload."""
    return struct.pack("<4I", 0x56535454, 2, len(kernels), 0) + b"".join(k.record() for k in kernels)


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as out_:
        out_.write(payload([kernel(s) for s in sys.argv[2:]]))
