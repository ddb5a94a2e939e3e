# SPDX-License-Identifier: GPL-2.0
"""tools/metrics against what `oae metrics` prints: every metric and label that is asked for is one."""

import json
import re

import yaml

from oaetest import REPO

METRICS = REPO / "tools" / "metrics"
# What Prometheus adds, and what is part of a name of a histogram's sample.
ADDED, SUFFIX = {"instance"}, r"_(?:bucket|sum|count)$"


def alerts():
    """The rules of alerts.yml."""
    groups = yaml.safe_load((METRICS / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def expressions():
    """(where, query, text with labels) of all rules and panels."""
    found = [(rule["alert"], rule["expr"],
              " ".join(re.findall(r"\$labels\.(\w+)", str(rule["annotations"]))))
             for rule in alerts()]
    dashboard = json.loads((METRICS / "dashboard.json").read_text(encoding="utf-8"))
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            found.append((panel["title"], target["expr"],
                          " ".join(re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")))))
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            found.append((variable["name"], variable["query"], ""))
    return found


def families(said):
    """What `oae -j metrics` has printed: {name: its labels}."""
    return {family["name"]: {label for sample in family["samples"] for label in sample["labels"]}
            for family in said}


def check(test, prefix, said):
    """All that is asked for of metrics with this prefix is in what was said."""
    known = families(said)
    asked = set()
    for where, query, shown in expressions():
        test.assertEqual([query.count(one) for one in "([{"], [query.count(one) for one in ")]}"],
                         f"{where}: {query}")
        for name, matchers in re.findall(r"\b(oae\w*)(?:\{([^}]*)\})?", query):
            if not name.startswith(prefix):
                continue
            family = name if name in known else re.sub(SUFFIX, "", name)
            test.assertIn(family, known, f"{where}: {query}")
            asked.add(family)
            labels = set(re.findall(r"(\w+)(?:=|!=|=~|!~)\"", matchers)) | set(shown.split())
            test.assertLessEqual(labels - ADDED, known[family], f"{where}: {query}")
    return asked
