# SPDX-License-Identifier: Apache-2.0
"""What was measured, kept in a JSON file after each step, so that a long run may be split and gone on with."""
import datetime
import json
import os


class Records:
    def __init__(self, path):
        self.path, self.all = path, {}
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                self.all = json.load(f)

    def get(self, *keys):
        here = self.all
        for k in keys:
            here = here.get(k, {}) if isinstance(here, dict) else {}
        return here or None

    def put(self, value, *keys):
        here = self.all
        for k in keys[:-1]:
            here = here.setdefault(k, {})
        here[keys[-1]] = value
        self.save()

    def save(self):
        self.all["date"] = str(datetime.date.today())
        if not self.path:
            return
        with open(self.path + ".tmp", "w", encoding="utf-8") as f:
            json.dump(self.all, f, indent=1, sort_keys=False)
        os.replace(self.path + ".tmp", self.path)
