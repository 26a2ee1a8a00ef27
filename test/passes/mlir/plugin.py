#!/usr/bin/env python3
"""Stock mlir-opt with zb-mlir-plugin.so gives the text of zb-opt: every RUN line of test/passes and test/ir that runs
zb-opt is run with both, and standard output is compared byte for byte, diagnostics by place, text and hint.

usage: plugin.py BUILD [FILE...]     prints what could not be compared, and why; files: of these alone
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
LLVM = os.environ.get("ZB_LLVM", "/usr/lib/llvm-22")
MLIR_OPT = os.path.join(LLVM, "bin", "mlir-opt")
FOLDERS = ("test/passes", "test/ir")
# What a RUN line may run before zb-opt, to make its input.
BEFORE = {"sed", "rm", "mkdir", "cp", "split-file", "printf", "echo", "cat", "grep", "tr"}
# Flags that both programs have.
SAME_FLAGS = {"--split-input-file", "--verify-diagnostics", "--allow-unregistered-dialect"}
# What there was to compare of a line.
PROGRAM, DIAGNOSTICS, EXPECTED, COMMAND = KINDS = (
    "programs, byte for byte", "diagnostics of wrong programs", "expected diagnostics in comments",
    "wrong command lines: both refuse, and where mlir-opt knows the pass it says what zb-opt says")
# Reasons to leave a line out.
PRINTS = "it prints a list of zb-opt's own, and reads no program"
BY_ZBC = "its input is written by zbc"
PARSER = "zb-opt refuses the text before MLIR's parser sees it, with a message of its own"
failed = 0


def check(name, ok, text=""):
    global failed
    failed += not ok
    print("%s - plugin: %s" % ("ok" if ok else "not ok", name), flush=True)
    if not ok:
        print("  " + str(text).replace("\n", "\n  ")[:4000])


def run_lines(path):
    """The RUN lines of a file, continuations joined."""
    lines, rest = [], ""
    with open(path, encoding="utf-8") as file:
        for found in re.findall(r"RUN:\s*(.*?)\s*$", file.read(), re.M):
            rest += found
            if rest.endswith("\\"):
                rest = rest[:-1] + " "
                continue
            lines.append(rest)
            rest = ""
    return lines


def stages(line):
    """[[word, ...], ...] of a pipe; redirections are words of their own."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>&;")
    lexer.whitespace_split, lexer.commenters = True, ""
    found = [[]]
    for word in lexer:
        if word == "|":
            found.append([])
        else:
            found[-1].append(word)
    return found


def without_redirections(words):
    """(words, file that standard output goes to or None)."""
    kept, target, i = [], None, 0
    while i < len(words):
        if words[i] == "2" and words[i + 1:i + 2] in ([">&"], [">"]):
            i += 3
        elif words[i] == ">":
            target = words[i + 1]
            i += 2
        else:
            kept.append(words[i])
            i += 1
    return kept, target


def translate(arguments):
    """(arguments of mlir-opt, reason why there are none)."""
    passes, out = [], []
    for word in arguments:
        if word in SAME_FLAGS:
            out.append(word)
        elif word.startswith("--pass-pipeline="):
            passes.append(word.partition("=")[2].removeprefix("builtin.module(").removesuffix(")"))
        elif word.startswith("--zb-"):
            name, _, options = word[2:].partition("=")
            passes.append("%s{%s}" % (name, options) if options else name)
        elif word == "--no-verify":
            out.append("--verify-each=false")
        elif word.startswith("-") and word != "-":
            return None, PRINTS if word in ("--irdl", "--list-passes", "-h") else "mlir-opt has no " + word
        else:
            out.append(word)
    return out + ["--pass-pipeline=builtin.module(%s)" % (",".join(passes) or "zb-verify")], None


def diagnostics(text):
    """[(place, severity, message, hint)] of what either program prints."""
    found = []
    for line in text.splitlines():
        said = re.match(r"(?:(\S+?:\d+:\d+): )?(?:[^ :]\S*: )?(error|warning|remark): (.*)$", line)
        hint = re.match(r"\s*hint: (.*)$", line)
        if said and re.match(r"expected \w+ \".*\" was not produced", said[3]):
            continue  # mlir-opt 22 says this of parts of a file although nobody asked
        if said:
            found.append([said[1], said[2], said[3], None])
        elif hint and found:
            found[-1][3] = hint[1]
    return found


class Pair:
    """Both programs."""

    def __init__(self, build, work):
        self.kinds = dict.fromkeys(KINDS, 0)
        self.plugin = os.path.join(build, "lib", "zb", "zb-mlir-plugin.so")
        self.zb_opt, self.work = os.path.join(build, "bin", "zb-opt"), work
        self.path = os.pathsep.join([os.path.join(build, "bin"), os.path.join(LLVM, "bin"), os.environ["PATH"]])

    def run(self, command, given=None):
        return subprocess.run(command, input=given, capture_output=True, cwd=self.work,
                              env=dict(os.environ, PATH=self.path), timeout=120)

    def mlir_opt(self, arguments, given=None, plugin=None):
        plugin = plugin or ["--load-pass-plugin=" + self.plugin, "--load-dialect-plugin=" + self.plugin]
        return self.run([MLIR_OPT, *plugin, *arguments], given)

    def compare(self, arguments, translated, given):
        """(zb-opt's standard output, None or what differs)."""
        ours, stock = self.run([self.zb_opt, *arguments], given), self.mlir_opt(translated, given)
        said = [ours.stderr.decode(errors="replace"), stock.stderr.decode(errors="replace")]
        shown = "zb-opt (exit status %d):\n%s\nmlir-opt (exit status %d):\n%s" % (ours.returncode, said[0],
                                                                                  stock.returncode, said[1])
        kind = PROGRAM if ours.returncode == 0 else DIAGNOSTICS
        if "--verify-diagnostics" in arguments:
            kind = EXPECTED
        elif ours.returncode == 2 and b".mlir:" not in ours.stderr.splitlines()[0]:
            kind = COMMAND
        self.kinds[kind] += 1
        if kind == EXPECTED:  # zb-opt then prints nothing, mlir-opt what is valid
            return b"", None if ours.returncode == stock.returncode == 0 else "not both are content\n" + shown
        if ours.stdout != stock.stdout:
            return ours.stdout, "standard output differs\n" + shown
        if (ours.returncode == 0) != (stock.returncode == 0):
            return ours.stdout, "one fails, the other does not\n" + shown
        expected, got = diagnostics(said[0]), diagnostics(said[1])
        if kind == COMMAND:  # MLIR has errors of its own for it, and ours among them
            named = expected[0][2] in said[1] or "does not refer to a registered" in said[1]
            return ours.stdout, None if named else shown
        # zb-opt sums up at the end without a place where nothing else was said; mlir-opt has no more than that.
        expected = [row for row in expected if row[0]]
        for row, other in zip(expected, got):  # a module that is not written has no place in mlir-opt
            if other[0] and other[0].endswith(":0:0"):
                row[0] = re.sub(r":\d+:\d+$", ":0:0", row[0])
        return ours.stdout, None if expected == got else "diagnostics differ: %s %s\n%s" % (expected, got, shown)


def expand(line, path, own):
    for name, value in (("%S", os.path.dirname(path)), ("%s", path), ("%t", own),
                        ("%data", os.path.join(ROOT, "test", "data")), ("%root", ROOT)):
        line = line.replace(name, value) if name != "%s" else re.sub(r"%s(?![a-z])", lambda _: value, line)
    return line.replace("%%", "%")


def run_line(pair, line):
    """(compared, reason or difference): of a RUN line that has zb-opt."""
    pipe, given = stages(line), None
    for number, words in enumerate(pipe):
        words, target = without_redirections(words)
        if "zb-opt" not in words:
            if words[0] not in BEFORE:
                return False, BY_ZBC if words[0] == "zbc" else "%s makes its input" % words[0]
            given = pair.run(words, given).stdout
            continue
        arguments = words[words.index("zb-opt") + 1:]
        translated, reason = translate(arguments)
        if reason:
            return False, reason
        out, difference = pair.compare(arguments, translated, given)
        if target:
            with open(os.path.join(pair.work, target), "wb") as file:
                file.write(out)
        given = out
        if difference or not any("zb-opt" in rest for rest in pipe[number + 1:]):
            return True, difference
    return True, None


def check_file(pair, path, counts, left_out):
    """Of one file: its lines in order, since later ones read what earlier ones write."""
    name = os.path.relpath(path, ROOT)
    own = os.path.join(pair.work, name.replace(os.sep, "_") + ".tmp")
    differences, missing = [], False
    for line in run_lines(path):
        line = expand(line, path, own)
        if "zb-opt" not in line:
            missing = missing or "zbc " in line
            words, target = without_redirections(stages(line)[0])
            if words[0] in BEFORE and not missing:
                pair.run(["sh", "-c", line])
            continue
        counts["lines"] += 1
        done, text = (False, BY_ZBC) if missing and own in line else run_line(pair, line)
        counts["compared"] += done
        if not done:
            left_out.append((name, line, text))
        elif text:
            differences.append("%s\n%s" % (line, text))
    if counts["lines"]:
        check(name, not differences, "\n".join(differences))


def check_script():
    """The parts of this script on made-up input."""
    words = stages("sed 's/a|b/c/' x | not zb-opt --zb-dce='x=\"1\"' 2>&1 | FileCheck %s")
    check("script: a RUN line comes apart",
          words[0] == ["sed", "s/a|b/c/", "x"] and without_redirections(words[1])[0] ==
          ["not", "zb-opt", "--zb-dce=x=\"1\""], words)
    check("script: options become those of a pipeline", translate(["--zb-a=x=1,y=2", "--zb-b", "f"])[0] ==
          ["f", "--pass-pipeline=builtin.module(zb-a{x=1,y=2},zb-b)"], translate(["--zb-a=x=1,y=2", "--zb-b", "f"]))
    both = ("f:1:2: error: it is wrong\n  source\n  ^\n  hint: mend it\n",
            "f:1:2: error: it is wrong\nhint: mend it\n  source\n  ^\n")
    check("script: diagnostics of both are alike", diagnostics(both[0]) == diagnostics(both[1]) != [], both)


def check_differences(pair):
    """The comparison can fail: another pass, another message, a program that only one of them takes."""
    program = os.path.join(ROOT, "test", "passes", "programs", "mlp.mlir")
    again = [program, "--pass-pipeline=builtin.module(%s)"]
    for name, ours, stock in (("another program", ["--zb-autodiff"], "zb-canonicalize"),
                              ("another diagnostic", ["--zb-classify"], "zb-outline"),
                              ("one failure", ["--zb-dce"], "zb-classify")):
        text = pair.compare([*ours, program], [again[0], again[1] % stock], None)[1]
        check("script: sees " + name, text is not None, text)
    pair.kinds = dict.fromkeys(KINDS, 0)


def check_other_ways(pair):
    """The dialect by --irdl-file, threads, timing, an error of nesting."""
    program = os.path.join(ROOT, "test", "passes", "programs", "mlp.mlir")
    pipeline = "--pass-pipeline=builtin.module(zb-autodiff,zb-split-grad)"
    expected = pair.run([pair.zb_opt, "--zb-autodiff", "--zb-split-grad", program]).stdout
    irdl = os.path.join(pair.work, "zb.irdl.mlir")
    with open(irdl, "wb") as file:
        file.write(pair.run([pair.zb_opt, "--irdl"]).stdout)
    got = pair.mlir_opt([pipeline, program], plugin=["--load-pass-plugin=" + pair.plugin, "--irdl-file=" + irdl])
    check("the dialect by --irdl-file", got.returncode == 0 and got.stdout == expected, got.stderr.decode())
    got = pair.mlir_opt([pipeline, "--allow-unregistered-dialect", program],
                        plugin=["--load-pass-plugin=" + pair.plugin])
    text = got.stderr.decode()
    check("without the dialect is an error with a hint", got.returncode == 1 and "hint: load it before" in text, text)
    got = pair.mlir_opt([pipeline, "--mlir-timing", program])
    text = got.stderr.decode()
    check("--mlir-timing names the passes", "zb-autodiff" in text and "zb-split-grad" in text, text)
    got = pair.mlir_opt(["--pass-pipeline=builtin.module(func.func(zb-dce))", program])
    text = got.stderr.decode()
    check("a pass in a manager of functions is an error", got.returncode == 1 and "of 'func.func'" in text, text)
    # Nested modules run on threads, each with a copy of the pass.
    with open(program, encoding="utf-8") as file:
        inner = re.sub(r"^//.*$", "", file.read(), flags=re.M)
    inner = inner if inner.lstrip().startswith("module") else "module {\n%s\n}" % inner
    nested = "module {\n%s\n}\n" % "\n".join([inner] * 16)
    got = pair.mlir_opt(["--pass-pipeline=builtin.module(builtin.module(zb-autodiff,zb-split-grad))", "-"],
                        nested.encode())
    single = expected.decode().strip().splitlines()
    count = got.stdout.decode().count("\n  " + "\n  ".join(single[:1]))
    bodies = got.stdout.decode().replace("\n  ", "\n").count("\n".join(single[1:-1]))
    check("16 modules at the same time", got.returncode == 0 and count == 16 and bodies == 16,
          "%d %d\n%s" % (count, bodies, got.stderr.decode()))


def main():
    build = os.path.abspath(sys.argv[1])
    check_script()
    counts, left_out = {"lines": 0, "compared": 0}, []
    with tempfile.TemporaryDirectory(prefix="zb-plugin-") as work:
        pair = Pair(build, work)
        files = [os.path.abspath(path) for path in sys.argv[2:]]
        if not files:
            check_differences(pair)
            check_other_ways(pair)
            for folder in FOLDERS:
                for place, folders, names in os.walk(os.path.join(ROOT, folder)):
                    folders[:] = sorted(name for name in folders if name != "Inputs")
                    names = sorted(name for name in names if name.endswith((".mlir", ".test")))
                    files += [os.path.join(place, name) for name in names]
        for path in files:
            if any("zb-opt" in line for line in run_lines(path)):
                check_file(pair, path, counts, left_out)
        for kind, count in pair.kinds.items():
            print("compared: %d %s" % (count, kind))
    for name, line, reason in left_out:
        print("left out: %s: %s\n  %s" % (name, reason, line[:160]))
    check("%d of %d RUN lines with zb-opt are compared" % (counts["compared"], counts["lines"]),
          counts["compared"] >= 0.95 * counts["lines"] > 0, counts)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
