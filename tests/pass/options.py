# SPDX-License-Identifier: Apache-2.0
"""Every pass has golden cases, and every option of every pass is set in one of its own: tests/pass/PassName/*.py, in the line
`# passes:` (or, for keys of the pass configuration, `# config:`). What there is to cover is asked from `tenon`."""
import glob
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, tenon  # noqa: E402

FOLDER = os.path.join(os.environ["top_srcdir"], "tests", "pass")


def pipelines(name):
    """What the cases in the folder of the pass run, one text each."""
    texts = [open(f, encoding="utf-8").read() for f in glob.glob(os.path.join(FOLDER, name, "*.py"))]
    return [m.group(1) for t in texts if (m := re.search(r"^# passes: (.*)", t, re.M))], len(texts)


def set_by(text, name):
    """The options that the list `text` gives to the pass, whose values may have braces of their own."""
    found = set()
    for start in re.finditer(r"\b%s\{" % name, text):
        end, depth = start.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        found.update(re.findall(r"(?:^|[,\s])(\w+)\s*=", re.sub(r"\{.*\}", "", text[start.end():end - 1])))
    return found


passes = [line.split() for line in tenon("list", "passes").stdout.splitlines()]
check(len(passes) > 50, "passes are listed")
options = 0
for name, _plugin in passes:
    lists, cases = pipelines(name)
    check(cases > 0, f"{name} has golden cases")
    shown = tenon("show", "pass", name).stdout.partition("\noptions:\n")[2]
    for option in re.findall(r"^  (\w+) ", shown, re.M):
        options += 1
        check(any(option in set_by(text, name) for text in lists),
              f"{name}: a golden case sets the option '{option}'")
check(options > 20, "options are read")

# keys of the pass configuration; databases of measured schedules are files, which tests/tools/tune.py makes
keys = {k["name"] for name, _plugin in passes for k in json.loads(tenon("show", "pass", name, "--json").stdout)["config"]}
keys -= {"tenon.tuning_db", "tenon.tuning_threads"}
check(len(keys) >= 5, "configuration keys are found")
texts = [open(f, encoding="utf-8").read() for f in glob.glob(os.path.join(FOLDER, "*", "*.py"))]
for key in sorted(keys):
    check(any(f"# config: {key}=" in text for text in texts), f"a golden case sets {key}")
done()
