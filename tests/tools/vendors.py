# SPDX-License-Identifier: Apache-2.0
"""What authors of plugins and those who choose plugins ask of the command line: lists of what plugins provide, the list of plugins that
may be loaded, and messages that name a thing once and say what to write instead."""
import json
import os
import re

from clitest import check, done, path, refused, tenon, write

# ---- lists ----
for what, name, plugin in (("patterns", "dnnl.", "dnnl"), ("externals", "dnnl", "dnnl"), ("loaders", "dnnl", "dnnl_rt"), ("dialects", "c", "tir")):
    r = tenon("list", what)
    j = tenon("list", what, "--json")
    rows = json.loads(j.stdout) if j.returncode == 0 else []
    check(r.returncode == 0 and [(x["name"], x["plugin"]) for x in rows] == [tuple(line.split()) for line in r.stdout.splitlines()],
          f"list {what} is the same as text and as JSON", r)
    if (plugin + ".plugin") in os.listdir(os.path.join(os.environ["top_builddir"], "plugins-stage")):
        check(any(x["name"].startswith(name) and x["plugin"] == plugin for x in rows), f"list {what} has {name} of {plugin}", j)
for what in ("packed", "meanings"):
    r = tenon("list", what, "--json")
    check(r.returncode == 0 and json.loads(r.stdout) == [], f"no plugin of Tenon's own provides {what}", r)
r = tenon("list", "legalizers", "cpu")
check(r.returncode == 0 and re.search(r"^relax\.nn\.conv2d +\S+ +cpu, instead of ops$", r.stdout, re.M), "whose programs an operator gets", r)
rows = json.loads(tenon("list", "legalizers", "cpu", "--json").stdout)
check(any(x["name"] == "relax.nn.conv2d" and x["plugin"] == "cpu" and x["instead_of"] == "ops" for x in rows), "the same as JSON")
check(rows and len({x["op"] if "op" in x else x["name"] for x in rows}) == len(rows), f"each operator once: {len(rows)}")
check(tenon("list", "legalizers", "null").stdout == "", "none of a target without some")
refused("legalizers of no target", tenon("list", "legalizers", "nothing"), "'nothing'", "hint:")
refused("an operand too many", tenon("list", "passes", "cpu"), "no further operand", status=(2,))
rows = json.loads(tenon("list", "devices", "--json").stdout)
cpu = [d for x in rows if x["name"] == "cpu" for d in x["devices"]]
facts = {p["name"]: p["value"] for p in cpu[0]["properties"]} if cpu else {}
check(cpu and cpu[0]["usable"] and facts.get("units", 0) >= 1 and facts.get("memory_bytes", 0) > 1 << 20 and facts.get("unified_memory") is True,
      f"properties of a device have types: {facts}")

# ---- plugin enable, disable ----
home = {"XDG_CONFIG_HOME": path("home")}
site = path("home/tenon/tenon.ini")


def listed(name):
    return re.search(rf"^{name} ", tenon("list", "plugins", env=home).stdout, re.M) is not None


def text():
    with open(site) as f:
        return f.read()


r = tenon("plugin", "disable", "null", env=home)
check(r.returncode == 0 and text() == "[tenon]\nplugins = *, -null\n" and site in r.stdout and "plugins = *, -null" in r.stdout,
      "a file is made, and said which", r)
check(not listed("null") and listed("cpu"), "the plugin is not used, others are")
r = tenon("list", "plugins", "--why", env=home)
check("tenon plugin enable null" in r.stdout, "how to use it again is said", r)
r = tenon("plugin", "disable", "null", env=home)
check(r.returncode == 0 and "disabled already" in r.stdout and "tenon.ini:2" in r.stdout, "what is so already is said, with the line", r)
r = tenon("plugin", "enable", "null", env=home)
check(r.returncode == 0 and text() == "[tenon]\nplugins = *\n" and listed("null"), "and back", r)
kept = "; a comment\n[tenon]\n; of this machine\nplugins = ops,\n    transform,\n    ; for models\n    tir, onnx, interp, cpu, null ; all\nthreads = 2\n\n[device cpu]\n"
write("home/tenon/tenon.ini", kept)
os.chmod(site, 0o640)
r = tenon("plugin", "disable", "null", env=home)
check(text() == "; a comment\n[tenon]\n; of this machine\nplugins = ops, transform, tir, onnx, interp, cpu\n    ; for models\nthreads = 2\n\n[device cpu]\n",
      "the rest of the file stays as it is:\n" + text(), r)
check(os.stat(site).st_mode & 0o777 == 0o640, "also its mode")
check(not listed("null") and listed("cpu"), "a list of names loses one")
r = tenon("plugin", "enable", "null", env=home)
check(listed("null"), "and gets it back", r)
write("home/tenon/tenon.ini", "[target mine]\nkind = cpu")
r = tenon("plugin", "disable", "onnx", env=home)
check(text() == "[target mine]\nkind = cpu\n\n[tenon]\nplugins = *, -onnx\n", "a file without the section gets one", r)
write("home/tenon/tenon.ini", "[tenon]\nthreads = 1\n")
r = tenon("plugin", "disable", "onnx", env=home)
check(text() == "[tenon]\nplugins = *, -onnx\nthreads = 1\n", "a section without the key gets it", r)
ABI = re.search(r"ABI (\d+\.\d+)", tenon("--version").stdout).group(1)
write("needy/needy.plugin", f"[plugin]\nname = needy\nversion = 1\nabi = {ABI}\nkind = compiler\nmodule = needy.so\nrequires = ops\nprovides = pass:Needy\n")
os.chmod(path("needy"), 0o755)
os.chmod(path("needy/needy.plugin"), 0o644)
r = tenon("plugin", "disable", "ops", "--plugin-path", path("needy"), env=home)
check("requires it" in r.stderr, "who needs the plugin is told of", r)
before = text()
for plugin, *texts in (("transform", "no model compiles for the target 'cpu' then", "InsertShapeChecks"), ("tir", "no model compiles for the target 'cpu' then"),
                       ("cpu", "the default target, 'cpu', is this plugin's"), ("cpu_rt", "compiled for the target 'cpu'")):
    r = tenon("plugin", "disable", plugin, env={"XDG_CONFIG_HOME": path("needed-" + plugin)})
    check(r.returncode == 0 and all(t in r.stderr for t in texts), f"plugin disable {plugin}: what needs it is warned of", r)
r = tenon("plugin", "disable", "null", env={"XDG_CONFIG_HOME": path("needed-null")})
check(r.returncode == 0 and not r.stderr, "plugin disable null: nothing needs it", r)
refused("no such plugin", tenon("plugin", "disable", "onyx", env=home), "'onyx'", "did you mean 'onnx'", status=(1,))
refused("neither", tenon("plugin", "drop", "onnx", env=home), "neither enable nor disable", status=(2,))
later = write("later.ini", "[tenon]\nplugins = *\n")
os.chmod(later, 0o644)
refused("a later file decides", tenon("plugin", "disable", "onnx", env=home | {"TENON_CONFIG": later}), "later.ini:2", "no effect", "hint:", status=(1,))
check(text() == before, "and nothing is written")

# ---- the settings of all users ----
etc, everyone = path("etc"), path("etc/tenon.ini")
os.makedirs(etc)
os.chmod(etc, 0o755)
admin = home | {"TENON_SYSCONFDIR": etc}
write("home/tenon/tenon.ini", "[tenon]\nthreads = 1\n")
r = tenon("plugin", "disable", "null", "--system", env=admin)
check(r.returncode == 0 and everyone in r.stdout and open(everyone).read() == "[tenon]\nplugins = *, -null\n" and text() == "[tenon]\nthreads = 1\n",
      "--system changes the installation's file, not the user's", r)
check(os.stat(everyone).st_mode & 0o777 == 0o644, "which others may read and not write")
check(not re.search(r"^null ", tenon("list", "plugins", env=admin).stdout, re.M), "and which counts")
r = tenon("plugin", "enable", "null", env=admin)
check(r.returncode == 0 and text() == "[tenon]\nplugins = *\nthreads = 1\n", "a user may have it again", r)
write("home/tenon/tenon.ini", "[tenon]\nthreads = 1\n")
write("etc/tenon.ini", "[tenon]\nplugins = *, -null\nlock = tenon.plugins\n")
os.chmod(everyone, 0o644)
refused("not where the site locks it", tenon("plugin", "enable", "null", env=admin), "tenon.ini:3 locks it", "--system", status=(1,))
r = tenon("plugin", "enable", "null", "--system", env=admin)
check(r.returncode == 0 and open(everyone).read() == "[tenon]\nplugins = *\nlock = tenon.plugins\n", "who administers may", r)

# Wherever the list stands, alone or in two files: a change that is said to be made counts, and else nothing is written.
def settle(files):
    for f in ("home/tenon/tenon.ini", "etc/tenon.ini", "etc/conf.d/x.ini", "data/conf.d/x.ini", "env.ini"):
        os.makedirs(os.path.dirname(path(f)), exist_ok=True)
        os.chmod(os.path.dirname(path(f)), 0o755)
        if os.path.exists(path(f)):
            os.remove(path(f))
    for f, value in files.items():
        os.chmod(write(f, f"[tenon]\nplugins = {value}\n"), 0o644)


def has_null(env):
    return re.search(r"^null ", tenon("list", "plugins", env=env).stdout, re.M) is not None


mine = admin | {"TENON_DATADIR": path("data"), "TENON_CONFIG": ""}
layers = ("data/conf.d/x.ini", "etc/tenon.ini", "etc/conf.d/x.ini", "home/tenon/tenon.ini", "env.ini")
cases = [({f: value}, what) for f in layers for value, what in (("*", "disable"), ("*, -null", "enable"))]
cases += [({f: "*", g: "*, -null"}, what) for i, f in enumerate(layers) for g in layers[i + 1:] for what in ("enable",)]
cases += [({"etc/tenon.ini": "*", "home/tenon/tenon.ini": "*, -null"}, "disable"), ({"etc/tenon.ini": "*, -null", "home/tenon/tenon.ini": "*"}, "enable")]
for files, what in cases:
    for system in ((), ("--system",)):
        settle(files)
        own = mine | ({"TENON_CONFIG": path("env.ini")} if "env.ini" in files else {})
        everybody = mine | {"XDG_CONFIG_HOME": path("nobody")}
        before = {f: open(path(f)).read() for f in files}
        r = tenon("plugin", what, "null", *system, env=own)
        same = {f: open(path(f)).read() for f in files} == before
        said = f"plugin {what} null {' '.join(system)} with {files}"
        if r.returncode:
            check(r.returncode == 1 and same and "would have no effect" in r.stderr and "hint:" in r.stderr, said + ": refused, and nothing is written", r)
            continue
        check(has_null(everybody if system else own) == (what == "enable"), said + ": counts", r)
        if system:
            check((has_null(own) != (what == "enable")) == ("for you it is not so" in r.stderr), said + ": a user's own list is told of", r)
settle({})

# ---- settings of plugins ----
r = tenon("list", "plugins", "--config", write("own.ini", "[plugin cpu]\nspeed = 9\n"))
check("[plugin cpu] has no setting 'speed'" in r.stderr and "own.ini:2" in r.stderr, "a setting that a plugin does not have", r)

# ---- what is wrong with a file comes at once ----
wrong = write("wrong.ini", "[tenon]\nthreats = 2\n[pipelin cpu]\ndrop = FuseOps\n[device cpux]\na = 1\n[pass FuseOpps]\nfuse_opt_level = 1\n")
r = tenon("check", write("m.py", "@R.function\ndef main(x: R.Tensor((2,), \"float32\")):\n    return x\n"), "--config", wrong)
for line, near in ((2, "'threads'"), (4, "pipeline"), (6, "[device cpu]"), (8, "[pass FuseOps]")):
    check(f"wrong.ini:{line}" in r.stderr and near in r.stderr, f"line {line} of a wrong file is told of, with {near}", r)
check(r.returncode == 1, "and nothing is done", r)

# ---- attributes of targets ----
model = write("x.py", "@R.function\ndef main(x: R.Tensor((2, 3), \"float32\")):\n    y = R.nn.relu(x)\n    return y\n")
r = tenon("compile", model, "-t", "null,check_indices=off", "-o", path("x.tno"))
refused("attributes behind a target", r, "'null,check_indices=off'", "[target mine]\n", "kind = null\n", "check_indices = off")
j = re.search(r"-t '(\{.*\})'", r.stderr)
r = tenon("compile", model, "-t", j.group(1) if j else "", "-o", path("x.tno"))
check(r.returncode == 0, "what the hint says can be given", r)

# ---- a name once ----
for what, args in (("target", ("compile", model, "-t", "nowhere", "-o", path("x.tno"))), ("pass", ("opt", model, "-p", "Nowhere")),
                   ("rule", ("opt", model, "-t", "cpu", "-p", "ApplyDefaultSchedule{rules=[a.Nowhere]}")),
                   ("pattern", ("opt", model, "-p", "FuseOpsByPattern{patterns=[\"a.nowhere\"]}")),
                   ("op", ("show", "op", "relax.nowhere")), ("plugin", ("show", "plugin", "nowhere")), ("rule", ("show", "rule", "a.Nowhere")),
                   ("target", ("show", "target", "nowhere")), ("pipeline", ("show", "pipeline", "nowhere")),
                   ("profile", ("compile", model, "-t", "cpu", "--profile", "nowhere", "-o", path("x.tno")))):
    r = tenon(*args)
    message = [line for line in r.stderr.splitlines() if "owhere" in line and "hint:" not in line and "note:" not in line]
    twice = [line for line in message if re.search(r"((?:\w+ )'[^']*owhere').*\1", line)]
    check(r.returncode != 0 and message and not twice, f"an unknown {what} is named once", r)
done()
