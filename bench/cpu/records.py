# SPDX-License-Identifier: Apache-2.0
"""What was measured, kept in a JSON file after each step, so that a long run may be split and gone on with; several
processes may add to it."""
import contextlib
import datetime
import fcntl
import json
import os


class Records:
    def __init__(self, path):
        self.path, self.all = path, {}
        self.load()

    def load(self):
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as f:
                self.all = json.load(f)

    @contextlib.contextmanager
    def changing(self):
        """The newest state of the file, written back afterwards."""
        with open(self.path + ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.load()
            yield
            self.all["date"] = str(datetime.date.today())
            with open(self.path + ".tmp", "w", encoding="utf-8") as f:
                json.dump(self.all, f, indent=1)
            os.replace(self.path + ".tmp", self.path)

    def get(self, *keys):
        here = self.all
        for k in keys:
            here = here.get(k, {}) if isinstance(here, dict) else {}
        return here or None

    def put(self, value, *keys):
        with self.changing():
            here = self.all
            for k in keys[:-1]:
                here = here.setdefault(k, {})
            here[keys[-1]] = value

    def forget(self, part, wanted):
        """Drops the records of a part whose names are wanted."""
        with self.changing():
            for name in [n for n in self.all.get(part, {}) if wanted(n)]:
                del self.all[part][name]
