#!/usr/bin/env python3
"""The style of the source text as a test: banned calls with what to use instead, limits of lines, functions and files,
machine paths, names of attributes, a README in every folder.

usage: tidy.py [ROOT]      checks a tree; ends with checks of itself on made-up text
       tidy.py --update    writes test/tidy/long_functions.txt anew (only to remove rows or
                           lower numbers; reviewers see it grow)
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS_MAX = 120
FORMATTER = "clang-format-22"  # another version breaks lines elsewhere
FILE_LINES_MAX = 900
FUNCTION_LINES_MAX = 70
LONG_FUNCTIONS = os.path.join(HERE, "long_functions.txt")
ROOMS = r"(include|ir|passes|runtime|kernels)/"
ABOVE_BASE = r"(?!runtime/base/)" + ROOMS + r".*\.(c|h|cu)$"
C_FILES = (".c", ".h", ".def", ".cu", ".cuh")
TEXT_FILES = C_FILES + (".py", ".sh", ".md", ".txt", ".cmake", ".json", ".in", ".mlir", ".test", ".proto")
# What a file name must match, what must not be in its code, what to do instead. Comments and strings of C are not code.
BANS = [
    (ABOVE_BASE, r"\b(malloc|calloc|realloc|strdup|strndup|aligned_alloc|posix_memalign)\(",
     "zb_alloc, zb_realloc, zb_strdup: they count, and tests make them fail"),
    (ABOVE_BASE, r"(?<![\w.>])free\(", "zb_free, or say in a comment on the line that the memory is libc's"),
    (ROOMS + r".*\.(c|h|cu)$", r"\bstrtok\(", "strcspn and strspn; strtok keeps state"),
    (r".*\.(c|h|cu)$", r"\b(strcpy|strcat|sprintf|vsprintf|gets)\(",
     "snprintf with a size, or zb_text of runtime/base/text.h"),
    (ROOMS + r".*\.(c|h|cu)$", r"\bassert\(",
     "a zb_status or a diagnostic that says what was expected and got; _Static_assert for constants"),
    (ABOVE_BASE, r"(?<![\w.>])(abort|exit|_exit|quick_exit)\(",
     "return a zb_status; only programs in tools/ end the process"),
    (ROOMS + r".*\.(c|h|cu)$", r"\bgetenv\(", "a field of the params struct; the tools read the command line"),
    (ROOMS + r".*\.(c|h|cu)$", r"\b(rand|srand|random|drand48)\(", "a generator with a seed that the caller gives"),
    (r"(?!runtime/base/(file|folder)\.c)(" + ROOMS + r"|tools/).*\.(c|h|cu)$",
     r"(?<![\w.>])(fopen|open|openat|open64|creat|mkstemp)\(",
     "zb_file_open, zb_file_read, zb_file_write_atomic: a bare open waits for ever at a pipe, and a bare "
     "write leaves half a file"),
    (r".*\.(c|h|def|cu|cuh)$",
     r"(?<=[;{] )[\w.>-]+(\+\+|--)(?=\))|(?<=\n)[ ]*[\w.>-]+(\+\+|--)(?=;)|(?<=[)] )[\w.>-]+(\+\+|--)(?=;)",
     "++i where the value is not used: one form of increment"),
    (r".*\.(c|h|cu|def)$", r"\bzb_(?!layer_layout|pass_layout\b|blas_layout\b)\w*layout\w*",
     "layout is of layers: elements of tensors have strides, stages a placement (ARCHITECTURE.md, Words)"),
    (r".*\.(c|h|cu)$", r"\balloca\(", "a fixed array with a named limit, or zb_alloc"),
]
# The same for the whole text of a file, comments and all.
TEXT_BANS = [
    (r"\b(TODO|FIXME|XXX|HACK)\b", "do it, or write the decision not to into the README of the folder"),
    (r"(?<![\w.}/%)*-])/(work|root|home|tmp)(?=/|\b)",
     "a path relative to the repository, the build folder, or a temporary folder from the system"),
    (r"[ \t]+$", "no blanks at the end of a line"),
]
# May have long lines: data and what other programs wrote.
WIDE = r"(test/(?!(.*/)?CMakeLists\.txt).*\.(txt|mlir|test)|.*\.json|LICENSE)$"


def files_of(root):
    """Files that git knows or would take; without git, all but build folders."""
    listed = ""
    if shutil.which("git"):
        listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                                capture_output=True, text=True).stdout
    names = [name for name in listed.split("\0") if name and os.path.isfile(os.path.join(root, name))]
    if not names:
        for place, folders, files in os.walk(root):
            folders[:] = [f for f in folders if not re.match(r"build|out$|\.git$|\.cache$|__pycache__$", f)]
            names += [os.path.relpath(os.path.join(place, f), root) for f in files if not f.endswith(".pyc")]
    return sorted(names)


def without_comments(text):
    """C text of the same lines with comments and the contents of strings blanked."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)


def line_comments(text):
    """The numbers of the lines with a comment of the form //, from 1."""
    pattern = r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*'
    return [text.count("\n", 0, m.start()) + 1 for m in re.finditer(pattern, text, flags=re.S) if m[0].startswith("//")]


def functions_of(text):
    """[(name, first line, lines)] of the C functions, by the layout that clang-format gives:
    the body ends with } in column 0."""
    found, lines, start = [], text.split("\n"), None
    for number, line in enumerate(lines):
        if start is None and re.match(r"(?!typedef|enum|struct |union )[A-Za-z_]", line):
            start = number
        if start is not None and line.endswith(";") and not any(l.endswith("{") for l in lines[start : number + 1]):
            start = None
        if line.startswith("}"):
            if start is not None and line.rstrip() == "}":
                head = " ".join(lines[start : number + 1])
                name = re.match(r"[^({=]*?(\w+)\s*\(", head)
                if name:
                    found.append((name[1], start + 1, number - start + 1))
            start = None
    return found


def read_long_functions():
    """{(file, function): lines}."""
    rows = {}
    if os.path.exists(LONG_FUNCTIONS):
        with open(LONG_FUNCTIONS) as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    path, name, lines = line.split()
                    rows[path, name] = int(lines)
    return rows


def lines_of_tables(path, text):
    """[whether this line may be long]: rows of a .def; of a .md rows, blocks of code and definitions of links."""
    lines = text.split("\n")
    if path.endswith(".def"):
        return [bool(code.strip()) for code in without_comments(text).split("\n")]
    if not path.endswith(".md"):
        return [False] * len(lines)
    fences = [line.lstrip().startswith("```") for line in lines]
    return [sum(fences[: i + 1]) % 2 == 1 or bool(re.match(r"\s*\||\s*\[[^\]]+\]: ", line))
            for i, line in enumerate(lines)]


def check_file(path, text, allowed, long_found):
    """{check: [messages]} of one file; adds long functions to long_found."""
    out = {}

    def say(check, line, what, hint):
        out.setdefault(check, []).append("%s:%d: error: %s; hint: %s" % (path, line, what, hint))

    lines = text.split("\n")
    is_wide = bool(re.match(WIDE, path))
    for number, (line, is_row) in enumerate(zip(lines, lines_of_tables(path, text)), 1):
        for pattern, hint in TEXT_BANS:
            match = re.search(pattern, line)
            if match and path != "test/tidy/tidy.py":
                say("banned text", number, "'%s'" % match[0], hint)
        if "\t" in line:
            say("tabs", number, "a tab", "two spaces")
        if len(line) > COLUMNS_MAX and not is_row and not is_wide:
            say("long lines", number, "%d columns, at most %d" % (len(line), COLUMNS_MAX),
                "break the line; 100 to 120 are good to read")
    if not path.endswith(C_FILES):
        return out
    if len(lines) > FILE_LINES_MAX:
        say("long files", 1, "%d lines, at most %d" % (len(lines), FILE_LINES_MAX),
            "split the file by what a reader looks for")
    for number in line_comments(text):
        say("one comment form", number, "a comment with //", "/* ... */")
    code = without_comments(text)
    for names, pattern, hint in BANS:
        if re.match(names, path):
            for match in re.finditer(pattern, code):
                if "libc's" in lines[code.count("\n", 0, match.start())]:
                    continue
                say("banned calls", code.count("\n", 0, match.start()) + 1,
                    "'%s'" % match[0].rstrip("("), "use " + hint)
    if path.endswith((".c", ".cu", ".h")):
        for name, line, count in functions_of(code):
            if count > FUNCTION_LINES_MAX:
                long_found[path, name] = count
                limit = allowed.get((path, name), FUNCTION_LINES_MAX)
                if count > limit:
                    say("long functions", line, "%s has %d lines, at most %d" % (name, count, limit),
                        "give a part of it a name and a function")
    return out


def check_format(root, names):
    """What the formatter would change; a message that begins with 'skip': why nothing was looked at."""
    files = [name for name in names if name.endswith((".c", ".h", ".cu", ".cuh"))]
    if not shutil.which(FORMATTER):
        return ["skip: there is no %s; tools/install-packages.sh installs it" % FORMATTER]
    run = subprocess.run([FORMATTER, "--dry-run", *files], cwd=root, capture_output=True, text=True)
    wrong = re.findall(r"^(\S+:\d+):\d+: warning: code should be clang-formatted", run.stderr, re.M)
    messages = ["%s: error: not formatted; hint: run %s -i on the file" % (place, FORMATTER)
                for place in sorted(set(wrong))]
    return messages or ([run.stderr] if run.returncode else [])


def attribute_names(root):
    """Names of the attributes zb.* that are no names of ops."""
    lists = []
    for path, pattern in (("ir/attributes.def", r"ZB_ATTRIBUTE\(\w+, (\w+),"),
                          ("include/zb/ops.def", r"^ZB_\w+\((\w+)")):
        path = os.path.join(root, path)
        text = ""
        if os.path.exists(path):
            with open(path) as file:
                text = file.read()
        lists.append(set(re.findall(pattern, text, re.M)))
    return lists[0] - lists[1]


def check_attribute_names(name, text, attributes):
    """C that knows MLIR spells no attribute: ir/attributes.def does."""
    if not re.match(r"(ir|passes|tools)/.*\.[ch]$", name):
        return []
    return ["%s:%d: error: \"zb.%s\" is spelled in ir/attributes.def; hint: ZB_ATTR_%s"
            % (name, number, word, word.upper())
            for number, line in enumerate(text.split("\n"), 1) for word in re.findall(r'"zb\.(\w+)"', line)
            if word in attributes and not re.match(r"/?[ ]?\*", line.strip()) and "metadata" not in line]


def check_words(text):
    """Every word of the glossary, "## Words" of ARCHITECTURE.md, has one row."""
    known, wrong = {}, []
    before, _, words = text.partition("\n## Words\n")
    for number, line in enumerate(words.split("\n"), before.count("\n") + 3):
        row = re.match(r"\| ([^|]+) \|", line)
        for word in re.split(r"[,;] ", row[1]) if row else []:
            if known.setdefault(word, number) != number:
                wrong.append("ARCHITECTURE.md:%d: error: '%s' has a meaning in line %d, too; hint: one word, one "
                             "meaning: find another word" % (number, word, known[word]))
    return wrong


def check_readmes(names):
    """Folders with sources: those two levels deep at most need a README.md, deeper ones that or a mention above."""
    have = {os.path.dirname(name) for name in names if os.path.basename(name) == "README.md"}
    folders = {os.path.dirname(name) for name in names
               if re.match(r"(include|ir|passes|runtime|kernels|tools|test)/", name)
               and name.endswith(C_FILES + (".py", ".sh", ".mlir"))}
    folders |= {os.path.dirname(folder) for folder in folders}
    wrong = []
    for folder in sorted(f for f in folders if f):
        if folder in have or folder.startswith("test/") or folder == "include":
            continue
        if folder.count("/") >= 2 and os.path.dirname(folder) in have:
            continue
        wrong.append("%s/README.md:1: error: missing; hint: purpose, invariants, decisions (what, because, "
                     "rejected), in a page" % folder)
    return wrong


def check_named_tests(name, text, names):
    """Tests that the comments of a source file name are there."""
    wrong = []
    for match in re.finditer(r"(?<![\w/.-])(test/[\w./-]+\.(?:c|mlir|test|py|sh)|\w+_test\.c)\b", text):
        if match[0] not in names and not any(other.endswith("/" + match[0]) for other in names):
            wrong.append("%s:%d: error: no file '%s'; hint: name the tests that there are"
                         % (name, text.count("\n", 0, match.start()) + 1, match[0]))
    return wrong


CHECKS = ["banned calls", "banned text", "tabs", "one comment form", "long lines", "long files",
          "long functions", "named tests", "names of attributes"]


def check_tree(root, allowed):
    """([(check, messages)], {long functions})."""
    names = files_of(root)
    found, long_found = {check: [] for check in CHECKS}, {}
    attributes = attribute_names(root)
    for name in names:
        base = os.path.basename(name)
        is_text = name.endswith(TEXT_FILES) or base.startswith(".") or "." not in base
        if name.startswith("test/data/") or not is_text or name == "LICENSE":
            continue
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
            text = file.read()
        for check, messages in check_file(name, text, allowed, long_found).items():
            found[check] += messages
        if re.match(ROOMS + "|tools/", name) and name.endswith(C_FILES):
            found["named tests"] += check_named_tests(name, text, names)
            found["names of attributes"] += check_attribute_names(name, text, attributes)
        if name == "ARCHITECTURE.md":
            found["one meaning a word"] = check_words(text)
    found["a README in every folder"] = check_readmes(names)
    found["format"] = check_format(root, names)
    return list(found.items()), long_found


LONG = "word " * (COLUMNS_MAX // 5) + "."
# Made-up files: path, text, parts of messages that must come (none: nothing may).
EXAMPLES = [
    ("ir/p.h", "zb_layer_layout a;\nzb_layout b;\nvoid zb_schedule_layout(void);\n",
     ["ir/p.h:2: error: 'zb_layout'", "ir/p.h:3: error: 'zb_schedule_layout'"]),
    ("passes/a.c", "void *f(void) {\n  return malloc(3);\n}\n", ["passes/a.c:2: error: 'malloc'; hint: use zb_alloc"]),
    ("ir/b.c",
     'int f(char *a) {\n  free(a);\n  zb_free(a);\n  table->free(a);\n  return puts("free(x)"); /* free(y) */\n  '
     'free(b); /* libc\'s */\n}\n', ["ir/b.c:2: error: 'free'"]),
    ("passes/l.c", "int f(void) {\n  p->open(1);\n  reopen(1);\n  opendir(a);\n  return open(a, 0);\n}\n",
     ["passes/l.c:5: error: 'open'; hint: use zb_file_open"]),
    ("runtime/base/file.c", "int f(void) {\n  return open(a, 0);\n}\n", []),
    ("tools/m.c", "int main(void) {\n  fopen(a, b);\n}\n", ["'fopen'"]),
    ("runtime/base/c.c", "void *f(void) {\n  return malloc(3);\n}\n", []),
    ("tools/d.c", "int main(void) {\n  exit(2);\n}\n", []),
    ("runtime/exec/e.c", "void f(void) {\n  assert(1);\n  exit(1);\n  abort();\n  sprintf(a, b);\n  my_exit(1);\n}\n",
     ["'assert'", "'exit'", "'abort'", "'sprintf'"]),
    ("kernels/f.c", "/* TO" + "DO: later */\n\tint a;\nint b; \n", ["'TO" + "DO'", "a tab", "no blanks at the end"]),
    ("ir/g.c", "/* in /ho" + "me/x, and/or home/x, a/tmp */\n", ["ir/g.c:1: error: '/ho" + "me'"]),
    ("ir/h.c", "int a; /*" + "x" * COLUMNS_MAX + "*/\n", ["columns, at most"]),
    ("ir/i.c", "int a;\n" * (FILE_LINES_MAX + 1), ["ir/i.c:1: error: 902 lines"]),
    ("ir/j.c", "static int short_one(int a) {\n  return a;\n}\n\nint long_one(int a,\n  int b) {\n"
     + "  a += b;\n" * 90 + "  return a;\n}\n", ["ir/j.c:5: error: long_one has 94 lines, at most 70"]),
    ("ir/l.c", "int a; // why\nconst char *b = \"http://c\"; /* // */\n", ["ir/l.c:1: error: a comment with //"]),
    ("ir/m.c", "void f(int i) {\n  if (a) i++;\n  ++i;\n  b = a[i++];\n  for (;; i--) puts(\"i++\");\n}\n",
     ["ir/m.c:2: error: 'i++'; hint: use ++i", "ir/m.c:5: error: 'i--'"]),
    ("ir/k.c", "static const int table[] = {\n" + "  1,\n" * 100 + "};\n", []),
    ("ir/n.def", "/* " + LONG + " */\nROW(%s) /* why */\nROW(1) /* %s\n * %s */\n" % (LONG, LONG, LONG),
     ["ir/n.def:1: error: 127 columns, at most 120", "ir/n.def:4: error"]),
    ("ir/o.md", "%s\n| %s |\n[a]: %s\n```\n%s\n```\n[a](b): %s\n" % ((LONG,) * 5),
     ["ir/o.md:1: error: 121", "ir/o.md:7: error"]),
    ("test/CMakeLists.txt", "# " + LONG + "\n", ["columns, at most"]),
    ("test/ir/CMakeLists.txt", "# " + LONG + "\n", ["columns, at most"]),
    ("test/ir/chart.txt", LONG + LONG + "\n", []),
    ("tools/p", "# " + LONG + "\n", ["columns, at most"]),
    ("tools/q.sh", "# " + LONG + "\n", ["columns, at most"]),
    ("kernels/r.cmake", "# " + LONG + "\n", ["columns, at most"]),
]


def check_itself():
    wrong = []
    for path, text, expected in EXAMPLES:
        messages = [m for rows in check_file(path, text, {}, {}).values() for m in rows]
        if len(messages) != len(expected) or not all(any(part in m for m in messages) for part in expected):
            wrong.append("%s: expected %s, got %s" % (path, expected, messages))
    long_one = next(text for path, text, _ in EXAMPLES if path == "ir/j.c")
    seen = ["long functions" in check_file("ir/j.c", long_one, {("ir/j.c", "long_one"): n}, {}) for n in (93, 94)]
    if seen != [True, False]:
        wrong.append("the list of long functions does not work")
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "ir", "ops"))
        for name in ("ir/a.c", "ir/ops/b.c", "ir/README.md"):
            with open(os.path.join(root, name), "w") as file:
                file.write("/* Tests: test/ir/none.mlir, tidy_test.c, test/ir/tidy_test.c */\nint a;\n")
        os.makedirs(os.path.join(root, "test", "ir"))
        for name in ("test/ir/tidy_test.c", "test/README.md"):
            with open(os.path.join(root, name), "w") as file:
                file.write("int a;\n")
        checks, _ = check_tree(root, {})
        places = [m.split(":")[0] for _, messages in checks for m in messages]
        if places != ["ir/a.c", "ir/ops/b.c", "ir/ops/README.md"]:
            wrong.append("named tests and READMEs: got %s" % checks)
        os.makedirs(os.path.join(root, "include", "zb"))
        for name, text in (("ir/attributes.def", "ZB_ATTRIBUTE(STAGE, stage, 1)\nZB_ATTRIBUTE(SEND, send, 1)\n"),
                           ("include/zb/ops.def", "ZB_OP(send, STRUCTURE)\n")):
            with open(os.path.join(root, name), "w") as file:
                file.write(text)
        code = '/* "zb.stage" */\nf("zb.send");\nf("zb.stage", "zb.stages");\nf("zb.stage"); /* metadata */\n'
        got = [check_attribute_names(name, code, attribute_names(root)) for name in ("passes/a.c", "runtime/a.c")]
        if [[m.split(":")[1] for m in messages] for messages in got] != [["3"], []]:
            wrong.append("names of attributes: got %s" % got)
    glossary = "a\n| b | old |\n## Words\n\n| word | it is |\n|---|---|\n| a, b | 1 |\n| c | 2 |\n| b; d | 3 |\n"
    if [m.split(":")[1] for m in check_words(glossary)] != ["9"]:
        wrong.append("one meaning a word: got %s" % check_words(glossary))
    return wrong


def update(found):
    allowed = read_long_functions()
    with open(LONG_FUNCTIONS, "w") as file:
        file.write("# Functions of more than %d lines, from before the limit: FILE FUNCTION LINES. Rows may only "
                   "leave, numbers only fall.\n"
                   "# test/tidy/tidy.py --update removes and lowers what it can.\n" % FUNCTION_LINES_MAX)
        for (path, name), lines in sorted(found.items()):
            file.write("%s %s %d\n" % (path, name, min(lines, allowed.get((path, name), lines))))


def main():
    root = os.path.dirname(os.path.dirname(HERE))
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    allowed = read_long_functions()
    checks, found = check_tree(arguments[0] if arguments else root, allowed)
    if "--update" in sys.argv:
        update(found)
        return 0
    checks.append(("finds what it should find", check_itself()))
    for name, messages in checks:
        skipped = messages and messages[0].startswith("skip: ")
        print("%s - tidy: %s%s" % ("not ok" if messages and not skipped else "ok", name, " # SKIP" if skipped else ""))
        for message in messages:
            print("  " + message)
    for (path, name), lines in sorted(allowed.items()):
        if found.get((path, name), 0) < lines:
            print("  note: %s of %s is shorter now; test/tidy/tidy.py --update" % (name, path))
    return 1 if any(messages and not messages[0].startswith("skip: ") for _, messages in checks) else 0


if __name__ == "__main__":
    sys.exit(main())
