#!/usr/bin/env python3
"""The rules of the proof (runtime/plan/proof/rules.def): the README beside the table has their list, the code gives
each as the reason of some refusal or says of which rule it is a part, and a test expects it.

usage: rules.py [--write]     --write makes the list in the README anew
"""
import glob
import os
import re
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4))
PROOF = os.path.join(ROOT, "runtime", "plan", "proof")
HEAD = "| rule | what holds |\n|---|---|\n"


def read(*paths):
    return "".join(open(path, encoding="utf-8").read() for path in paths)


def rules_of(table):
    """[(name, what holds)] of the rows of a table."""
    rows = re.findall(r"^ZB_PLAN_RULE\((\w+),\n((?:\s+\"(?:[^\"\\]|\\.)*\"\n?)+)\)", table, re.M)
    return [(name, re.sub(r"\\(.)", r"\1", "".join(re.findall(r"\"((?:[^\"\\]|\\.)*)\"", text))))
            for name, text in rows]


def listed(page, rules):
    """The page with the list of the rules in the place of its own."""
    begin = page.index(HEAD)
    rows = "".join("| %s | %s |\n" % rule for rule in rules)
    return page[:begin] + HEAD + rows + page[page.index("\n\n", begin) + 1:]


def unnamed(rules, code, tests):
    """What is wrong with rules: nothing refuses by them, or no test expects that."""
    wrong = []
    for name, holds in rules:
        if "part of structure" in holds:
            continue
        if not re.search(r"ZB_RULE(_OF)?\(\s*%s\b|rule \\\"%s\\\"" % (name, name), code):
            wrong.append("%s: no code refuses by it" % name)
        if not re.search(r"\"%s\"|\\\"%s\\\"" % (name, name), tests):
            wrong.append("%s: no test expects it" % name)
    return wrong


def check_itself():
    table = 'ZB_PLAN_RULE(one,\n    "a "\n    "\\"b\\"")\nZB_PLAN_RULE(two,\n    "c")\n'
    rules = [("one", 'a "b"'), ("two", "c")]
    page = "x\n" + HEAD + "| old | row |\n\ny\n"
    wrong = [] if rules_of(table) == rules else ["rows are read as %s" % rules_of(table)]
    if listed(page, rules) != "x\n" + HEAD + '| one | a "b" |\n| two | c |\n\ny\n':
        wrong.append("the list is written as %r" % listed(page, rules))
    if unnamed(rules, "ZB_RULE(one, 1)", '"two"') != ["one: no test expects it", "two: no code refuses by it"]:
        wrong.append("rules without code or tests: %s" % unnamed(rules, "ZB_RULE(one, 1)", '"two"'))
    return wrong


def main():
    page_path = os.path.join(PROOF, "README.md")
    table = read(os.path.join(PROOF, "rules.def"))
    rules, page = rules_of(table), read(page_path)
    if "--write" in sys.argv[1:]:
        page = listed(page, rules)
        open(page_path, "w", encoding="utf-8").write(page)
    code = read(*glob.glob(os.path.join(PROOF, "*.c")), os.path.join(ROOT, "runtime", "plan", "file", "check.c"))
    tests = read(*glob.glob(os.path.join(ROOT, "test", "runtime", "plan", "**", "*.[ch]"), recursive=True))
    checks = [
        ("every row is read", [] if len(rules) == len(re.findall(r"^ZB_PLAN_RULE\(", table, re.M)) else ["rules.def"]),
        ("the README lists them", [] if page == listed(page, rules) else [
            "runtime/plan/proof/README.md differs from rules.def; hint: test/runtime/plan/proof/rules.py --write"]),
        ("code refuses by each, and a test expects it", unnamed(rules, code, tests)),
        ("finds what it should find", check_itself()),
    ]
    for name, messages in checks:
        print("%s - rules of plans: %s" % ("not ok" if messages else "ok", name))
        for message in messages:
            print("  " + message)
    return 1 if any(messages for _, messages in checks) else 0


if __name__ == "__main__":
    sys.exit(main())
