# SPDX-License-Identifier: GPL-2.0
"""doc/netlink/*.yaml against the kernel: policies, flags, real answers, the header."""

import re

import yaml

from oaenl import CTRL, GETFAMILY, GETPOLICY, Netlink, attr, attrs
from oaetest import REPO

# Numbers of NL_ATTR_TYPE_..., and how long a value is.
TYPES = {"u8": (2, 1), "u16": (3, 2), "u32": (4, 4), "u64": (5, 8), "binary": (10, None), "string": (12, None),
         "nest": (13, None)}
ADMIN, CAN_DO, CAN_DUMP, HAS_POLICY = 0x10, 2, 4, 8


def number(data):
    """A u32, or u64."""
    return int.from_bytes(data, "little")


class Spec:
    """A file; its attribute sets and operations by name, each with its number."""

    def __init__(self, name):
        self.yaml = yaml.safe_load((REPO / "doc" / "netlink" / f"{name}.yaml").read_text())
        self.sets, self.ops = {}, {}
        for one in self.yaml["attribute-sets"]:
            self.sets[one["name"]] = self._attributes(one)
        count = 0
        for op in self.yaml["operations"]["list"]:
            count = op.get("value", count + 1)
            self.ops[op["name"]] = {**op, "value": count}

    def _attributes(self, one):
        if "subset-of" in one:
            whole = self.sets[one["subset-of"]]
            return {each["name"]: whole[each["name"]] for each in one["attributes"]}
        found, count = {}, 0
        for each in one["attributes"]:
            count = each.get("value", count + 1)
            found[each["name"]] = {**each, "value": count}
        return found

    def request(self, op, way):
        """What a request may have: {number: attribute}."""
        names = (op[way].get("request") or {}).get("attributes", [])
        some = self.sets[op["attribute-set"]]
        return {some[name]["value"]: some[name] for name in names}

    def header(self):
        """The enumerators that the file makes: {name: number}."""
        found = {}

        def add(prefix, name, value):
            found[(prefix + name).upper().replace("-", "_")] = value
        for one in self.yaml["attribute-sets"]:
            for name, each in self.sets[one["name"]].items():
                if "subset-of" not in one:
                    add(one["name-prefix"], name, each["value"])
        for name, op in self.ops.items():
            add(self.yaml["operations"]["name-prefix"], name, op["value"])
        return found


def header():
    """The enumerators of the header: {name: number}."""
    text = (REPO / "include" / "uapi" / "oae_netlink.h").read_text()
    found = {}
    for body in re.findall(r"enum \w+ \{(.*?)\};", text, re.S):
        count = 0
        for name, value in re.findall(r"^\t(OAE_NL_\w+)(?: = (\d+))?,", body, re.M):
            count = int(value or count + 1)
            found[name] = count
    return found


class Kernel:
    """What the kernel says of a family: flags of its commands, and their policies."""

    def __init__(self, host, family):
        self.netlink = Netlink(host, family)
        control = self.netlink.family
        self.netlink.family = CTRL
        answer = dict(self.netlink.ask(GETFAMILY, attr(2, family))[0])
        self.ops = {}
        for _, op in attrs(answer[6]):
            one = dict(attrs(op))
            self.ops[number(one[1])] = number(one[2])
        self.policies, self.op_policy = {}, {}
        for message in self.netlink.dump(GETPOLICY, attr(2, family)):
            for kind, value in message:
                if kind == 8:
                    self._policy(value)
                elif kind == 9:
                    (op, ways), = attrs(value)
                    self.op_policy[op] = {kind: number(index) for kind, index in attrs(ways)}
        self.netlink.family = control

    def _policy(self, value):
        for index, kinds in attrs(value):
            for kind, facts in attrs(kinds):
                self.policies.setdefault(index, {})[kind] = {
                    fact: number(said) for fact, said in attrs(facts)}

    def request(self, op, way):
        """What a request may have: {number: facts}."""
        index = self.op_policy.get(op, {}).get({"do": 1, "dump": 2}[way])
        return {} if index is None else self.policies.get(index, {})


def compare_policy(test, spec, kernel, attributes, policy):
    """Types and lengths of what a request may have."""
    test.assertEqual(set(attributes), set(policy))
    for kind, each in attributes.items():
        facts, checks = policy[kind], each.get("checks", {})
        test.assertEqual(facts[1], TYPES[each["type"]][0], each)
        if each["type"] == "string":
            test.assertEqual(facts[7], checks["max-len"], each)
        elif each["type"] == "binary":
            test.assertEqual((facts[6], facts[7]), (checks["exact-len"],) * 2, each)
        elif each["type"] == "nest":
            inner = spec.sets[each["nested-attributes"]]
            compare_policy(test, spec, kernel, {one["value"]: one for one in inner.values()},
                           kernel.policies[facts[8]])


def compare_answer(test, spec, op, way, messages):
    """Every attribute of real answers is one of the file, and as long as it says."""
    some = spec.sets[op["attribute-set"]]
    wanted = {some[name]["value"]: some[name] for name in op[way]["reply"]["attributes"]}
    pads = {one["value"] for one in some.values() if one["type"] == "pad"}
    test.assertTrue(messages, op["name"])
    for message in messages:
        test.assertEqual({kind for kind, _ in message} - pads, set(wanted), op["name"])
        for kind, value in message:
            each = wanted.get(kind, {"type": "pad"})
            size = TYPES.get(each["type"], (0, None))[1] or each.get("checks", {}).get("exact-len")
            if size:
                test.assertEqual(len(value), size, each)
            elif each["type"] == "string":
                test.assertRegex(value, rb"\A[ -~]*\0\Z", each)


def check(test, host, name):
    """All of a file."""
    spec, kernel = Spec(name), Kernel(host, name)
    test.addCleanup(kernel.netlink.close)
    named = header()
    for enumerator, value in spec.header().items():
        test.assertEqual(named.get(enumerator), value, enumerator)
    asked = [op for op in spec.ops.values() if "do" in op or "dump" in op]
    test.assertEqual({op["value"] for op in asked}, set(kernel.ops))
    test.assertEqual([group["name"] for group in spec.yaml.get("mcast-groups", {}).get("list", [])],
                     list(kernel.netlink.groups))
    for op in asked:
        flags = kernel.ops[op["value"]]
        test.assertEqual({"do": bool(flags & CAN_DO), "dump": bool(flags & CAN_DUMP)},
                         {"do": "do" in op, "dump": "dump" in op}, op["name"])
        test.assertEqual(bool(flags & ADMIN), "uns-admin-perm" in op.get("flags", []), op["name"])
        for way in {"do", "dump"} & set(op):
            compare_policy(test, spec, kernel, spec.request(op, way),
                           kernel.request(op["value"], way))
        if "dump" in op:
            compare_answer(test, spec, op, "dump", kernel.netlink.dump(op["value"]))
        elif "reply" in op["do"]:
            compare_answer(test, spec, op, "do", kernel.netlink.ask(op["value"]))
    return spec, named
