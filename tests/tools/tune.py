# SPDX-License-Identifier: Apache-2.0
"""tenon tune measures, goes on where it was, and keeps what compilations then take, the same each time."""
import json
import os
import sys

from clitest import check, done, path, refused, tenon, write

if "cpu" not in tenon("list", "targets").stdout.split():
    sys.exit(77)

MODEL = write("model.py", """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((%s, 96), "float32"), w: R.Tensor((96, 64), "float32")):
        with R.dataflow():
            y = R.nn.relu(R.matmul(x, w))
            R.output(y)
        return y
""" % 40)
SYMBOLIC = write("symbolic.py", open(MODEL).read().replace("(40, 96)", "('rows', 96)"))
DB = path("sub/db.jsonl")
FAST = ["--threads", "1", "--measure", "0.01", "-j", "1"]
TMP = path("tmp")
os.mkdir(TMP)


def tune(*args, model=MODEL, db=DB):
    return tenon("tune", model, "-t", "cpu", "--tuning-db", db, *FAST, *args, env={"TMPDIR": TMP})


def records(db=DB):
    with open(db) as f:
        lines = f.read().splitlines()
    check(json.loads(lines[0]) == {"tenon_tuning": 1}, "the first line is the header")
    return [json.loads(line) for line in lines[1:]]


def compiled(name, *args, model=MODEL):
    out = path(name)
    r = tenon("compile", model, "-t", "cpu", "-o", out, *args)
    check(r.returncode == 0, f"compile {name}", r)
    with open(out, "rb") as f:
        return f.read()


r = tenon("tune", MODEL, "-t", "cpu", "--tuning-db", DB, "--list")
check(r.returncode == 0 and "fused_matmul_relu" in r.stdout and not os.path.exists(DB), "--list measures nothing", r)
r = tune("--trials", "5")
check(r.returncode == 0 and "fused_matmul_relu" in r.stdout and "speedup" in r.stdout, "tune", r)
first = records()
points = {(p["rule"], json.dumps(p["choices"], sort_keys=True)) for p in first}
check(len(points) == 5, f"five schedules were measured: {len(points)}")
check(all(p["threads"] == 1 and p["machine"] and p["name"] == "fused_matmul_relu" for p in first), "what records say")
check(not os.listdir(TMP), f"no files are left: {os.listdir(TMP)}")

# a tuner that was interrupted in the middle of a line goes on
with open(DB, "a") as f:
    f.write('{"target": "cpu')
r = tune("--trials", "7")
again = records()
more = {(p["rule"], json.dumps(p["choices"], sort_keys=True)) for p in again}
check(r.returncode == 0 and again[:len(first)] == first, "resuming only adds", r)
check(len(more) == 7 and points <= more, f"the points known are not tried again: {len(more)}")
r = tune("--trials", "7")
check(r.returncode == 0 and {(p["rule"], json.dumps(p["choices"], sort_keys=True)) for p in records()} == more,
      "nothing is left to try", r)

# compilations take the fastest record; here one that says it is
usual = compiled("usual.tno", "--tuning-db", "none")
check(usual == compiled("usual2.tno"), "by default there is no database")
fake = dict(first[0], choices={"pack": 0})
chosen = write("chosen.jsonl", "\n".join([json.dumps({"tenon_tuning": 1}), json.dumps(dict(first[0], seconds=1)),
                                          json.dumps(dict(fake, seconds=0.5))]) + "\n")
check("pack" in first[0]["choices"], "the default says what it chose")
tuned = compiled("tuned.tno", "--tuning-db", chosen)
check(tuned != usual, "a database changes the artifact")
check(tuned == compiled("tuned2.tno", "--tuning-db", chosen, "-j", "2"), "same database, same bytes")
check(tuned == compiled("tuned3.tno", "--set", "tenon.tuning_db=" + chosen), "the configuration names it")
check(usual == compiled("usual3.tno", "--set", "tenon.tuning_db=none"), "none is read")
# records of two numbers of threads: those measured last count, or those of the number that is asked for
both = write("both.jsonl", "\n".join([json.dumps({"tenon_tuning": 1}), json.dumps(dict(fake, seconds=0.5, threads=2)),
                                      json.dumps(dict(first[0], seconds=1, threads=1))]) + "\n")
ones = compiled("ones.tno", "--tuning-db", both)
check(ones != tuned, "those of one thread were measured last")
check(tuned == compiled("twos.tno", "--set", "tenon.tuning_db=" + both, "--pass-config", "tenon.tuning_threads=2"), "of two threads, by --pass-config beside [tenon] tuning_db")
check(tuned == compiled("twos2.tno", "--pass-config", f'tenon.tuning_db=["{both}"]', "--set", "tenon.threads=2"), "of two threads, by [tenon] threads beside --pass-config")
check(tuned == compiled("twos3.tno", "--pass-config", f'tenon.tuning_db="{both}"', "--pass-config", "tenon.tuning_threads=2", "--set", "tenon.threads=1"), "--pass-config comes before [tenon]")
ini = write("sub/t.ini", "[tenon]\ntuning_db = ../chosen.jsonl\n")
check(tuned == compiled("tuned4.tno", "--config", ini), "a relative path counts from the INI file's folder")
home = path("data")
os.makedirs(os.path.join(home, "tenon"))
os.link(chosen, os.path.join(home, "tenon", "tuning.jsonl"))
out = path("users.tno")
tenon("compile", MODEL, "-o", out, env={"XDG_DATA_HOME": home})
with open(out, "rb") as f:
    check(f.read() == tuned, "the user's database is read where none is configured")
r = tenon("show", "model", path("tuned.tno"))
check(f"tuned schedule: fused_matmul_relu: cpu.Matmul pack=0" in r.stdout, "show says what was taken", r)
r = tenon("show", "model", path("usual.tno"))
check("as measured" not in r.stdout, "and nothing otherwise", r)
x = tenon("run", path("usual.tno"), "-o", path("o1"))
y = tenon("run", path("tuned.tno"), "-o", path("o2"), "--expect", "#0=" + path("o1/0-output0.npy"))
check(x.returncode == 0 and y.returncode == 0, "both give the same", y)
# a record that no rule makes any more is left alone
stale = write("stale.jsonl", open(chosen).read().replace('"pack": ', '"pack_not": '))
check(usual == compiled("stale.tno", "--tuning-db", stale), "a record of another version of a rule is not taken")

# a dynamic dimension is measured at a size of choice
r = tune("--trials", "2", "--size", "rows=24", model=SYMBOLIC, db=path("symbolic.jsonl"))
check(r.returncode == 0 and len(records(path("symbolic.jsonl"))) >= 2, "a dynamic dimension", r)

# a site that has its own rules tried first, by the same pass inserted once more
r = tune("--trials", "2", "--set", "pipeline.cpu.insert.mine=before ApplyDefaultSchedule: ApplyDefaultSchedule{rules=[Recurrent]}",
         db=path("inserted.jsonl"))
check(r.returncode == 0 and len(records(path("inserted.jsonl"))) >= 2, "ApplyDefaultSchedule twice in the pipeline", r)

refused("a database that is none", tune(db=MODEL), ":1:", status=(1,))
refused("a bad line", tenon("compile", MODEL, "-o", path("x.tno"), "--tuning-db",
                            write("bad.jsonl", '{"tenon_tuning": 1}\n{"target": 5}\n')), "bad.jsonl:2:", status=(1,))
refused("a database that is not there", tenon("compile", MODEL, "-o", path("x.tno"), "--tuning-db", path("no.jsonl")),
        "no.jsonl", status=(1,))
refused("trials", tune("--trials", "0"), "--trials", status=(2,))
refused("a size", tune("--size", "rows"), "--size", status=(2,))
refused("a size of no dimension", tune("--size", "cols=3", model=SYMBOLIC), "the model has no dynamic dimension 'cols'", "its dynamic dimensions: 'rows'")
refused("no file for the database", tune(db="none"), "--tuning-db", status=(1,))
refused("a database that cannot be written", tune("--trials", "2", db="/dev/null/db.jsonl"), "/dev/null", status=(1,))
done()
