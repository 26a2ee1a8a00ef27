#!/usr/bin/env python3
"""What pages show is what the programs print today, and what they point to is there.

Seven rules, for every *.md of the repository:

1. In a console block the lines after "$ COMMAND" are what that command prints; a line "..." stands for any number of
   lines. Commands of ours without printed lines are run too, on small models called model.onnx and exported.mlir, a
   step of JAX called step.mlir, a program of Paddle called main.json and a text called corpus.txt; of the others
   (NOT_RUN) the options are looked up.
2. What stands between "<!-- printed by: COMMAND -->" and "<!-- end -->" is what that command prints. If it
   is a fenced block, the fences stay.
3. Options in `code` are options: of the program that the code starts with, or of any of ours or of a script.
4. Links within the repository lead to files that are there, and to headings of them. Pages of docs/ that sources name
   are there.
5. Blocks of Python are Python, and what they call of the package zb is there and has these keyword arguments.
6. README.md is a page of at most 150 lines, one of docs/ has at most 200, and README.md leads to each in two clicks.
7. A question of questions.txt is answered on the page of its row: README.md leads there in two clicks, and the words of
   the row stand there.

What differs from machine to machine (times that were measured, rates, idle shares of a real run, the
instruction set) is compared by shape; all else exactly: ops, bytes, parameters, simulated times, losses (within
0.001 where the instruction set is another).

usage: readme.py BUILD [--write]     --write puts what is printed today into the files; what is
                                     equal but for the machine stays as it is
"""
import ast
import glob
import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = ("zbc", "zb-run", "zb-sched", "zb-opt")
LIMIT_SECONDS = 200
README_LINES_MAX, PAGE_LINES_MAX = 150, 200
# First words of commands that are not run, and why.
NOT_RUN = {
    "tools/quickstart.sh": "builds", "tools/test.sh": "runs this", "pip": "needs the network",
    "python": "needs torch", "mpirun": "other tests",
    "torchrun": "needs torch", "srun": "needs Slurm", "cmake": "installs", "cc": "manual.py compiles it",
}
# Options in `code` that are not ours: whose they are.
FOREIGN = {
    "--no-python": "torchrun", "--nproc-per-node": "torchrun", "--nnodes": "torchrun", "--node-rank": "torchrun",
    "--master-addr": "torchrun", "--master-port": "torchrun", "--standalone": "torchrun", "--rdzv-backend": "torchrun",
    "--bind-to": "mpirun", "--map-by": "mpirun", "--oversubscribe": "mpirun", "--allow-run-as-root": "mpirun",
    "--mpi": "srun", "--ntasks-per-node": "srun", "--gpus-per-node": "srun",
    "--install": "cmake", "--prefix": "cmake", "--target": "cmake", "--cflags": "pkg-config", "--libs": "pkg-config",
    "--irdl-file": "mlir-opt", "--load-pass-plugin": "mlir-opt", "--load-dialect-plugin": "mlir-opt",
    "--fmad": "nvcc", "--gc-sections": "ld", "--as-needed": "ld",
    "--split": "git", "--staged": "git",
}
TIME = r"\d+(?:\.\d+)? (?:ps|ns|us|ms|s)"
# What is measured, and what stands in its place when two texts are compared.
MASKS = [
    (r"(?m)^(step \d+/\d+  loss \S+)  %s  \S+ tokens/s  idle \S+$" % TIME, r"\1  TIME  RATE tokens/s  idle SHARE"),
    (r"compiled in %s" % TIME, "compiled in TIME"),
    (r"on (cpu|sim) \(\w+\)", r"on \1 (SET)"),
    (r"(read|loaded|mapped|planned|ready|started|built|compiled) in %s" % TIME, r"\1 in TIME"),
]
failed = checks = 0


def check(name, ok, text=""):
    global failed, checks
    checks += 1
    failed += not ok
    print("%s - readme: %s" %
          ("ok" if ok else "not ok", name) + ("" if ok else "\n  " + str(text).replace("\n", "\n  ")), flush=True)
    return ok


# ---- Comparing ----

def masked(text):
    for pattern, instead in MASKS:
        text = re.sub(pattern, instead, text)
    return text


LOSS = re.compile(r"(?m)^(step \d+/\d+  loss )(\d+\.\d+)")


def same_losses(shown, printed):
    """Lines of steps by their number; exact on one instruction set."""
    sets = [re.findall(r"on cpu \((\w+)\)", text) for text in (shown, printed)]
    apart = 1e-3 if sets[0] != sets[1] else 0.0
    known = dict(LOSS.findall(printed))
    return all(step in known and abs(float(loss) - float(known[step])) <= apart for step, loss in LOSS.findall(shown))


def same(shown, printed):
    """Whether lines that a README shows, "..." among them, are those that were printed."""
    if not same_losses(shown, printed):
        return False
    shown, printed = (LOSS.sub(r"\1LOSS", masked(text)) for text in (shown, printed))
    pattern = "".join(r"(?:[^\n]*\n)*?" if line == "..." else re.escape(line) + "\n" for line in shown.splitlines())
    return re.fullmatch(pattern, printed) is not None


def renewed(shown, printed):
    """What a README shows instead: as many lines around "..." as before, lines that are equal
    but for the machine as they were."""
    if same(shown, printed):
        return shown
    old, new = shown.splitlines(), printed.splitlines()
    if "..." in old and len(new) >= len(old):
        at = old.index("...")
        new = new[:at] + ["..."] + new[len(new) - (len(old) - at - 1):]
    kept = {masked(line): line for line in old}
    return "".join(kept.get(masked(line), line) + "\n" for line in new)


# ---- Options ----

def options_of_programs(build):
    """{program: its options}, by its help; zb-opt has those of every pass, too."""
    found = {}
    for program in PROGRAMS:
        text = run("%s --help" % program, build, ROOT)[1]
        if program == "zb-opt":
            text += "".join(" --" + name
                            for name in re.findall(r"(?m)^(zb-\S+)", run("zb-opt --list-passes", build, ROOT)[1]))
        found[program] = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text)) | {"--help", "--version"}
    return found


def options_of_scripts():
    found = set()
    for folder in ("tools", "test"):
        for path in glob.glob(os.path.join(ROOT, folder, "**", "*.*"), recursive=True):
            if path.endswith((".py", ".sh")) and os.path.basename(path) != "readme.py":
                found |= set(re.findall(r"--[a-z][\w-]*", open(path, encoding="utf-8").read()))
    return found


def wrong_options(words, known, others):
    """Options of a command line that its program does not have; words before the program are the launcher's."""
    at = next((i for i, word in enumerate(words) if os.path.basename(word) in PROGRAMS), None)
    if at is None:
        return [word for word in words[:1] if word.startswith("--") and word.split("=")[0] not in others]
    mine = known[os.path.basename(words[at])]
    return [word for word in words[at + 1:] if re.match(r"--?[a-z]", word) and word.split("=")[0] not in mine]


def split(command):
    try:
        return shlex.split(command, comments=True)
    except ValueError:  # a quote of prose
        return command.split()


# ---- Running ----

def run(command, build, folder):
    """(exit status, standard output and error as a terminal shows them)."""
    environment = dict(os.environ, PATH=os.path.join(build, "bin") + os.pathsep + os.environ["PATH"], ZB_BUILD=build)
    try:
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return None, "still running after %d seconds" % LIMIT_SECONDS
    return done.returncode, done.stdout


def make_folder(work, build):
    """The repository by links, with an `out` and a model and a text of the names that the
    READMEs use for the reader's own."""
    for name in os.listdir(ROOT):
        if not name.startswith((".", "build", "out")):
            os.symlink(os.path.join(ROOT, name), os.path.join(work, name))
    os.symlink(build, os.path.join(work, "build"))
    shutil.copy(os.path.join(ROOT, "test", "data", "gpt2-tiny.onnx"), os.path.join(work, "model.onnx"))
    aten = os.path.join(ROOT, "test", "data", "aten")
    shutil.copy(os.path.join(aten, "gpt2.mlir"), os.path.join(work, "exported.mlir"))
    shutil.copy(os.path.join(aten, "gpt2.safetensors"), work)  # its values, as the text names them
    jax = os.path.join(ROOT, "test", "ir", "import", "stablehlo", "Inputs")
    shutil.copy(os.path.join(jax, "adam.mlir"), os.path.join(work, "step.mlir"))
    shutil.copy(os.path.join(jax, "mlp.params.safetensors"), os.path.join(work, "params.safetensors"))
    paddle = os.path.join(ROOT, "test", "ir", "import", "paddle", "Inputs")
    for name, of_page in (("main.json", "main.json"), ("startup.json", "startup.json"),
                          ("params.safetensors", "main.safetensors")):
        shutil.copy(os.path.join(paddle, "llama." + name), os.path.join(work, of_page))
    with open(os.path.join(ROOT, "test", "data",
                           "corpus.txt"), "rb") as corpus, open(os.path.join(work, "corpus.txt"), "wb") as out:
        out.write(bytes(byte % 32 for byte in corpus.read()))  # the vocabulary of that model


# ---- Python ----

PYTHON = re.compile(r"(?ms)^```python\n(.*?)^```")


def package():
    """The package zb, without its library; __pycache__ is not written into the sources."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.join(ROOT, "tools", "python"))
    import zb
    return zb


def keywords_of(function, zb):
    found = {p.name for p in inspect.signature(function).parameters.values()}
    options = {zb.compile: zb.CompileOptions, zb.Session: zb.SessionOptions}.get(function)
    return found | set(options.__annotations__ if options else ())


def wrong_python(code, zb):
    """What a block calls of zb, as zb.compile, that is not there."""
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        return [str(error)]
    wrong = []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = ast.unparse(call.func)
        if not re.fullmatch(r"zb\.\w+", name):
            continue
        function = getattr(zb, name[3:], None)
        known = keywords_of(function, zb) if function else set()
        wrong += [] if function else [name]
        wrong += ["%s(%s=)" % (name, k.arg) for k in call.keywords if function and k.arg not in known]
    return wrong


# ---- The files ----

CONSOLE = re.compile(r"(?ms)^```console\n(.*?)^```")
PRINTED = re.compile(r"(?ms)^<!-- printed by: ([^\n]*?) -->\n(.*?)^<!-- end -->")
COMMAND = re.compile(r"(?m)^\$ ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)")


class Page:
    def __init__(self, path, build, work, known, scripts):
        self.path, self.build, self.work, self.known, self.scripts = path, build, work, known, scripts
        self.name = os.path.relpath(path, ROOT)
        self.text = open(path, encoding="utf-8").read()

    def printed(self, command, shown):
        """Runs, compares, and returns what the page is to show."""
        status, text = run(command, self.build, self.work)
        text = re.sub(r"[ \t]+$", "", text, flags=re.M)
        good = check("%s: $ %s" % (self.name, command), status == 0 and (shown is None or same(shown, text)),
                     "exit status %s; printed:\n%s" % (status, text))
        return shown if good or status != 0 or shown is None else renewed(shown, text)

    def command(self, found):
        command, shown = found[1], found[2]
        words = split(command)
        wrong = wrong_options(words, self.known, self.scripts)
        check("%s: options of $ %s" % (self.name, command), not wrong, wrong)
        names = [word for word in words if not re.match(r"\w+=", word)]
        if shown or not (names[0] in NOT_RUN or "..." in words or "DIR" in words):
            shown = self.printed(command, shown or None) or ""
        return "$ %s\n%s" % (command, shown)

    def generated(self, found):
        command, shown = found[1], found[2]
        fence = re.fullmatch(r"(?s)(```\w*\n)(.*?)(```\n)", shown)
        before, inner, after = fence.groups() if fence else ("", shown, "")
        return "<!-- printed by: %s -->\n%s%s%s<!-- end -->" % (command, before, self.printed(command, inner), after)

    def check_code(self):
        prose = re.sub(r"(?ms)^```.*?^```", "", self.text)
        any_program = set().union(*self.known.values()) | self.scripts | set(FOREIGN)
        for code in re.findall(r"`([^`\n]+)`", prose):
            words = split(code)
            if words and (os.path.basename(words[0]) in PROGRAMS or words[0].startswith("--")):
                wrong = wrong_options(words, self.known, any_program)
                if wrong:
                    check("%s: `%s`" % (self.name, code), False, "no such option: %s" % " ".join(wrong))

    def check_python(self):
        for code in PYTHON.findall(self.text):
            wrong = wrong_python(code, package())
            check("%s: Python: %s" % (self.name, code.strip().split("\n")[0]), not wrong, wrong)

    def go(self):
        self.check_code()
        self.check_python()
        text = CONSOLE.sub(lambda block: "```console\n%s```" % COMMAND.sub(self.command, block[1]), self.text)
        text = PRINTED.sub(self.generated, text)
        left = re.findall(r"<!-- (?:printed by|end)\b[^\n]*", PRINTED.sub("", text))
        check("%s: what is printed begins and ends" % self.name, not left, left)
        return text


def pages():
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build", "out")))
        yield from (os.path.join(folder, name) for name in sorted(files) if name.endswith(".md"))


# ---- Links ----

LINK = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(([^()\s]+)\)")
PAGE_IN_SOURCES = re.compile(r"(?<![\w/.-])docs/[\w./-]+\.md\b")


def without_code(text):
    return re.sub(r"`[^`\n]+`", "``", re.sub(r"(?ms)^```.*?^```", "", text))


def anchors(text):
    """Names of the headings of a page, as GitHub makes them."""
    found = []
    for heading in re.findall(r"(?m)^#+ +(.*)", re.sub(r"(?ms)^```.*?^```", "", text)):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        same = sum(re.fullmatch(re.escape(name) + r"(-\d+)?", other) is not None for other in found)
        found.append("%s-%d" % (name, same) if same else name)
    return set(found)


def wrong_links(name, texts, exists):
    """Links of the page `name` (texts: of all pages by their names) that lead nowhere."""
    wrong = []
    for link in LINK.findall(without_code(texts[name])):
        path, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
        if re.match(r"\w+:", link):
            continue
        if not exists(target):
            wrong.append("%s: there is no file '%s'" % (link, target))
        elif anchor and anchor not in anchors(texts.get(target, "")):
            wrong.append("%s: %s has no such heading" % (link, target))
    return wrong


def leads_to(name, texts):
    """Pages that a page has links to."""
    links = (link.partition("#")[0] for link in LINK.findall(without_code(texts[name])))
    return {os.path.normpath(os.path.join(os.path.dirname(name), path)) for path in links if path} & set(texts)


def missing_pages_of_sources():
    wrong = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if not f.startswith((".", "build", "out"))]
        for name in files:
            if name.endswith((".c", ".h", ".def", ".py", ".sh", ".cu", ".txt", ".cmake", ".proto")):
                path = os.path.join(folder, name)
                text = open(path, encoding="utf-8", errors="replace").read()
                wrong += ["%s: %s" % (os.path.relpath(path, ROOT), page) for page in PAGE_IN_SOURCES.findall(text)
                          if not os.path.exists(os.path.join(ROOT, page))]
    return wrong


def unanswered(questions, texts, near):
    """Rows "question | page | words; words" whose page is not near, or lacks one of the words."""
    wrong = []
    for row in (line for line in questions.splitlines() if line and not line.startswith("#")):
        question, page, words = (cell.strip() for cell in row.split("|"))
        text = " ".join(texts.get(page, "").split())
        missing = [word for word in words.split("; ") if word not in text]
        wrong += ["%s: README.md does not lead to %s in two clicks" % (question, page)] if page not in near else []
        wrong += ["%s: %s lacks %s" % (question, page, ", ".join(missing))] if missing else []
    return wrong


def check_questions(texts, near):
    questions = open(os.path.join(ROOT, "test", "readme", "questions.txt"), encoding="utf-8").read()
    wrong = unanswered(questions, texts, near)
    check("questions are answered", not wrong, "\n".join(wrong))


def check_links(paths):
    texts = {os.path.relpath(path, ROOT): open(path, encoding="utf-8").read() for path in paths}
    for name in texts:
        wrong = wrong_links(name, texts, lambda target: os.path.exists(os.path.join(ROOT, target)))
        check("%s: links" % name, not wrong, "\n".join(wrong))
    wrong = missing_pages_of_sources()
    check("pages that sources name", not wrong, "\n".join(wrong))
    once = leads_to("README.md", texts)
    twice = once.union(*(leads_to(name, texts) for name in once))
    check_questions(texts, {"README.md"} | twice)
    docs = {name for name in texts if name.startswith("docs/")}
    check("README.md leads to each page of docs/ in two clicks", docs <= twice, docs - twice)
    limits = {"README.md": README_LINES_MAX, **{name: PAGE_LINES_MAX for name in docs}}
    lines = {name: texts[name].count("\n") for name, limit in limits.items() if texts[name].count("\n") > limit}
    check("pages are short", not lines, lines)


# ---- These rules on made-up input ----

def check_link_rules():
    texts = {"a.md": "# A `b` (c)\n## A b c\n[x](d/e.md#one-two) [y\nz](#a-b-c) [g](#a-b-c-1) [w](https://x/y)\n",
             "d/e.md": "# One, two\n```\n# no\n```\n`[c](none)` [a](../a.md) [b](none.md) [c](#no)\n"}
    wrong = [wrong_links(name, texts, texts.__contains__) for name in texts]
    check("links to files and headings are followed", not wrong[0], wrong[0])
    check("links that lead nowhere are seen", [text.split(":")[0] for text in wrong[1]] == ["none.md", "#no"], wrong[1])
    check("pages that a page leads to", leads_to("d/e.md", texts) == {"a.md"})
    rows = "# no\nWho? | a.md | A `b`; x] y\nWhere? | a.md | none\nWhat? | d/e.md | One, two\n"
    wrong = [text.split(":")[0] for text in unanswered(rows, {"a.md": "A `b`\nx]\ny", "d/e.md": "One, two"}, {"a.md"})]
    check("questions without an answer are seen", wrong == ["Where?", "What?"], wrong)


def check_rules():
    run_text = "gpt2: 4 ranks on cpu (avx2), 59.7 MiB\nstep 1/3  loss 5.532988  1.18 s  3.5k tokens/s  idle 19.8%\n"
    other = "gpt2: 4 ranks on cpu (avx512), 59.7 MiB\nstep 1/3  loss 5.533088  360.90 ms  11.3k tokens/s  idle 30.3%\n"
    check("a time that was measured may differ",
          same(run_text, run_text.replace("1.18 s", "360.90 ms").replace("3.5k", "11.3k")))
    check("a loss may not", not same(run_text, run_text.replace("5.532988", "5.532989")))
    check("a loss on another instruction set may, a little",
          same(run_text, other) and not same(run_text, other.replace("5.533", "5.633")))
    check("so may the set of the device sim", same("2 ranks on sim (avx2)\n", "2 ranks on sim (avx512)\n"))
    check("bytes may not", not same(run_text, run_text.replace("59.7", "57.6")))
    check("a number of ops may not", not same("705 ops compiled in 1.00 s\n", "657 ops compiled in 1.00 s\n")
          and same("657 ops compiled in 57.24 ms\n", "657 ops compiled in 1.00 s\n"))
    check("... stands for lines, not for all",
          same("a\n...\nd\n", "a\nb\nc\nd\n") and not same("a\n...\nd\n", "a\nb\nc\n"))
    check("a line too many is seen", not same("a\n", "a\nb\n") and not same("a\nb\n", "a\n"))
    check("renewing keeps the lines around ...", renewed("a\n...\nd\n", "A\nb\nc\nD\n") == "A\n...\nD\n")
    check("renewing keeps what the machine alone changes",
          renewed("705 ops\ncompiled in 57.24 ms\n", "657 ops\ncompiled in 2.00 s\n")
          == "657 ops\ncompiled in 57.24 ms\n")
    known = {"zbc": {"--ranks", "-o"}, "zb-run": {"--data"}, "zb-sched": set(), "zb-opt": set()}
    check("an option of another program is seen",
          wrong_options(split("mpirun -n 4 zb-run D --ranks 2"), known, set()) == ["--ranks"])
    check("options of a launcher are its own",
          not wrong_options(split("torchrun --no-python zb-run D --data text:F"), known, set()))
    python = "zb.compile(model, ranks=2, rank=2)\nzb.Sesion(plan)\nzb.schedule(ranks=2, costs={})\nf(rank=1)\n"
    check("a wrong name in Python is seen", wrong_python(python, package()) == ["zb.compile(rank=)", "zb.Sesion"]
          and wrong_python("x = = 1", package()), wrong_python(python, package()))
    check("an option of nobody is seen", wrong_options(["--rank"], known, {"--ranks"}) == ["--rank"])


def main():
    build, write = os.path.abspath(sys.argv[1]), "--write" in sys.argv[2:]
    check_rules()
    check_link_rules()
    known, scripts = options_of_programs(build), options_of_scripts()
    check("every program has options", all(len(known[program]) > 8 for program in PROGRAMS), known)
    found = list(pages())
    for path in found:
        with tempfile.TemporaryDirectory(prefix="zb readme ") as work:
            make_folder(work, build)
            page = Page(path, build, work, known, scripts)
            text = page.go()
            if write and text != page.text:
                open(path, "w", encoding="utf-8").write(text)
                print("rewritten: %s" % page.name)
    check_links(found)
    text = "".join(open(path, encoding="utf-8").read() for path in found)
    check("there are blocks with what is printed",
          len(COMMAND.findall("".join(CONSOLE.findall(text)))) >= 8, len(found))


main()
print("%d passed, %d failed" % (checks - failed, failed))
sys.exit(1 if failed else 0)
