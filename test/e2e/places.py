#!/usr/bin/env python3
"""Where files are read and written: pipes, devices and folders in the place of files, two who write to
one place, folders that are replaced.

    places.py [--bin BUILD/bin]

A pipe in the place of every file that a program reads must not hold it: it is refused with a hint, or, where a
shell makes it for <(command), read. Outputs to a pipe or a device go there and leave it as it is. Two runs
that save to one folder, or two compiles, are told of each other. What else lies in the folder of a plan stays
there. Ends with "N passed, N failed".
"""
import os
import re
import shutil
import subprocess
import sys
import threading

import common

GPT2 = os.path.join(common.DATA, "gpt2-small.onnx")
LIMIT_SECONDS = 20


class Places:
    def __init__(self, suite, folder):
        self.suite, self.folder = suite, folder
        self.plan, self.saved, self.problem, self.order, self.costs = map(
            self.path, ("plan", "saved", "p.json", "o.csv", "c.json"))
        suite.compile(GPT2, self.plan, "--ranks", 2, "--micro-batches", 2)
        self.train = ["zb-run", self.plan, "--data", "text:" + common.CORPUS, "--steps"]
        suite.must(*self.train, 3, "--save", self.saved, "--profile", self.costs)
        suite.must("zb-sched", "--schedule", "zb-h1", "--ranks", 2, "--micro-batches", 4,
                   "--write-problem", self.problem, "--csv", self.order)

    def path(self, name):
        return os.path.join(self.folder, name)

    def pipe(self, name):
        path = self.path(name)
        if os.path.lexists(path):
            os.unlink(path)
        os.mkfifo(path)
        return path

    def run(self, *words, **options):
        try:
            return self.suite.run(*words, timeout=common.patience(LIMIT_SECONDS), **options)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(words, "none: it did not end", "", "")

    def expect(self, text, done, status, *patterns):
        good = done.returncode == status and all(re.search(pattern, done.stderr) for pattern in patterns)
        if self.suite.check(good, f"{text}: exit {done.returncode}\n{done.stderr}"):
            print(f"ok   {text}: {(done.stderr.strip().splitlines() or ['exit ' + str(status)])[0][-140:]}", flush=True)

    def shell(self, command):
        try:
            return subprocess.run(["bash", "-c", command], capture_output=True, text=True,
                                  timeout=common.patience(LIMIT_SECONDS))
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, "none: it did not end", "", "")


def copies(p, source, name):
    """A copy of a folder in which one file is a pipe."""
    folder = p.path("copy")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    os.unlink(os.path.join(folder, name))
    os.mkfifo(os.path.join(folder, name))
    return folder


def inputs(p):
    pipe = "is a pipe, expected a file(.|\n)*hint: write it to a file first"
    data = ["--data", "text:" + common.CORPUS, "--steps", 1]
    for name in ("plan.zb", "weights.safetensors", "constants.safetensors"):
        p.expect(f"a pipe as {name}", p.run("zb-run", copies(p, p.plan, name), *data), 4, pipe)
    for name in ("weights.safetensors", "optimizer.safetensors"):
        p.expect(f"a pipe as {name} of a save", p.run(*p.train, 1, "--resume", copies(p, p.saved, name)), 4, pipe)
    folder = copies(p, p.saved, "weights.safetensors")
    os.mkfifo(os.path.join(folder, "model.safetensors.index.json"))
    p.expect("a pipe as the index of a save", p.run(*p.train, 1, "--resume", folder), 4, pipe)
    with open(os.path.join(folder, "model.safetensors.index.json") + "2", "w") as file:
        file.write('{"weight_map": {"a": "weights.safetensors"}}')
    os.replace(file.name, os.path.join(folder, "model.safetensors.index.json"))
    p.expect("a pipe as a file that an index names", p.run(*p.train, 1, "--resume", folder), 4, pipe)
    for kind in ("text", "tokens"):
        p.expect(f"a pipe as {kind}",
                 p.run("zb-run", p.plan, "--data", f"{kind}:{p.pipe('data')}", "--steps", 1), 4, pipe)
        p.expect(f"a device as {kind}", p.run("zb-run", p.plan, "--data", f"{kind}:/dev/zero", "--steps", 1), 4,
                 "is a device, expected a file")
    for name, words in (("m.onnx", ["zbc"]), ("m.mlir", ["zbc"])):
        p.expect(f"a pipe as {name}", p.run(*words, p.pipe(name), "-o", p.path("out")), 4, pipe)
    os.symlink("/dev/zero", p.path("zero.mlir"))
    p.expect("a device as MLIR", p.run("zbc", p.path("zero.mlir"), "-o", p.path("out")), 4,
             "is a device, expected a file")
    p.expect("a pipe as the input of zb-opt", p.run("zb-opt", p.path("m.mlir"), "--zb-cse"), 4, pipe)
    p.expect("a pipe as weights", p.run("zbc", write_mlir(p), "-o", p.path("out"), "--weights", p.pipe("w")), 4, pipe)
    for option in ("--costs", "--schedule"):
        p.expect(f"a pipe as {option} of zbc",
                 p.run("zbc", GPT2, "-o", p.path("out"), option, p.pipe("f.csv")), 4, pipe)
    for option in ("--problem", "--costs", "--order"):
        more = ["--schedule", "zb-h1"] if option != "--order" else []
        sizes = [] if more else ["--ranks", 2, "--micro-batches", 4]
        p.expect(f"a pipe as {option} of zb-sched", p.run("zb-sched", option, p.pipe("f.csv"), *more, *sizes), 4, pipe)
        p.expect(f"a device as {option} of zb-sched", p.run("zb-sched", option, "/dev/zero", *more), 4,
                 "is a device, expected a file")
        p.expect(f"a folder as {option} of zb-sched", p.run("zb-sched", option, p.folder, *more), 4,
                 "is a folder, expected a file")
    p.suite.check(not os.path.exists(p.path("out")), "none of them has made a folder")


def write_mlir(p):
    path = p.path("ir")
    p.suite.must("zbc", GPT2, "-o", p.path("dumped"), "--dump-ir", path)
    return os.path.join(path, sorted(os.listdir(path))[0])


def pipes_of_a_shell(p):
    sched = p.suite.tool("zb-sched")
    for text, command in (("a problem from <(command)",
                           f"'{sched}' --schedule zb-h1 --problem <(sleep 0.5; cat '{p.problem}')"),
                          ("costs from <(command)", f"'{sched}' --schedule zb-h1 --costs <(cat '{p.costs}')"),
                          ("an order from <(command)", f"'{sched}' --order <(cat '{p.order}')"),
                          ("an order from /dev/stdin", f"cat '{p.order}' | '{sched}' --order /dev/stdin"),
                          ("an order that is standard input", f"'{sched}' --order /dev/stdin < '{p.order}'")):
        p.expect(text, p.shell(command), 0)
    done = p.shell(f"'{p.suite.tool('zbc')}' '{GPT2}' -o '{p.path('out')}' --costs <(cat '{p.costs}')")
    p.expect("costs of zbc from <(command), which it reads more than once", done, 4,
             "is a pipe, expected a file(.|\n)*hint: write it to a file")


def outputs(p):
    null = os.stat("/dev/null")
    p.expect("--profile /dev/null", p.run(*p.train, 3, "--profile", "/dev/null"), 0)
    p.expect("--timeline and --trace to /dev/null",
             p.run(*p.train, 1, "--timeline", "/dev/null", "--trace", "/dev/null"), 0)
    p.expect("--csv /dev/null", p.run("zbc", GPT2, "-o", p.path("nothing"), "--ranks", 2, "--csv", "/dev/null"), 0)
    p.suite.check(os.stat("/dev/null")[:2] == null[:2] and not os.path.exists("/dev/null.tmp"),
                  "/dev/null is what it was")
    done = p.shell(f"'{p.suite.tool('zb-sched')}' --schedule zb-h1 --problem '{p.problem}' --csv /dev/stdout | cat")
    with open(p.order) as file:
        p.suite.check(file.read().strip().splitlines()[-1] in done.stdout,
                      f"--csv /dev/stdout: {done.stdout} {done.stderr}")
    p.shell(f"'{p.suite.tool('zb-sched')}' --schedule zb-h1 --problem '{p.problem}' --csv /dev/stdout > "
            f"'{p.path('all.txt')}'")
    with open(p.path("all.txt")) as file, open(p.order) as order:
        text, wanted = file.read(), order.read()
    p.suite.check(wanted in text and "bubble" in text and os.path.islink("/dev/stdout"),
                  f"--csv /dev/stdout, which is a file: {text}")
    done = p.run("zb-sched", "--schedule", "zb-h1", "--problem", p.problem, "--write-problem", "/dev/null")
    p.expect("--write-problem /dev/null", done, 0)
    p.expect("a pipe that nobody reads", p.run(*p.train, 1, "--timeline", p.pipe("t.svg")), 4,
             "cannot write .*t.svg(.|\n)*hint: nobody reads from this pipe")
    pipe, got = p.pipe("read.svg"), []
    read_end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # open before the program looks for a reader
    os.set_blocking(read_end, True)
    keeps_open = os.open(pipe, os.O_WRONLY)  # or the reader would see an end before there is a writer
    reader = threading.Thread(target=lambda: got.append(open(read_end).read()))
    reader.start()
    done = p.run("zb-sched", "--schedule", "zb-h1", "--problem", p.problem, "--timeline", pipe)
    os.close(keeps_open)
    reader.join(LIMIT_SECONDS)
    p.suite.check(done.returncode == 0 and got and "</svg>" in got[0],
                  f"a pipe that is read gets the picture: {done.stderr}")


def two_runs(p):
    saved = p.path("both")
    first = subprocess.Popen([p.suite.tool("zb-run"), p.plan, "--data", "text:" + common.CORPUS, "--steps", "100000",
                              "--save", saved], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first.stdout.readline(), first.stdout.readline()
    other = os.path.join(p.folder, "link")
    os.symlink(p.folder, other)
    for path in (saved, saved + "/", os.path.join(other, "both")):
        p.expect("a second run that saves there", p.run(*p.train, 1, "--save", path), 4,
                 f"cannot save to '.*both': another run is writing there: process {first.pid} on \\S+(.|\n)*hint: ")
    p.expect("a run that saves beside it", p.run(*p.train, 1, "--save", saved + "2"), 0)
    first.kill()
    first.communicate()
    p.suite.check(os.path.exists(saved + ".lock"), "a lock file stays after kill -9")
    p.expect("the next run after a kill", p.run(*p.train, 1, "--save", saved), 0)
    p.suite.check(not [name for name in os.listdir(p.folder) if name.startswith("both.")], "and cleans up")


def first_save(p):
    """A save that fails: nothing is promised of a folder that is not there."""
    import resource
    for every in ((), ("--save-every", 1)):
        saved = p.path(f"never{len(every)}")
        done = p.run(*p.train, 2, "--save", saved, *every,
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
        p.expect("a first save that fails", done, 4, "File too large(.|\n)*nothing is saved: there is no '.*never")
        p.suite.check("--resume" not in done.stderr and "before is untouched" not in done.stderr,
                      f"it promises nothing: {done.stderr}")
    saved = p.path("older")
    shutil.copytree(p.saved, saved)
    done = p.run(*p.train, 2, "--save", saved,
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
    p.expect("a first save that fails over an older one", done, 4,
             "what was there before is untouched(.|\n)*this run has saved nothing; '.*older' is of an earlier one")


def plan_folder(p):
    out = p.path("home")
    compiled = ["zbc", GPT2, "-o", out, "--ranks", 2]
    p.suite.must(*compiled)
    os.makedirs(os.path.join(out, "checkpoint", "deep"))
    for name in ("notes.txt", "checkpoint/deep/file"):
        with open(os.path.join(out, name), "w") as file:
            file.write(name)
    p.expect("zbc over a folder with other files", p.run(*compiled), 0)
    kept = sorted(os.listdir(out))
    p.suite.check(kept == ["checkpoint", "constants.safetensors", "notes.txt", "plan.zb", "weights.safetensors"] and
                  os.path.exists(os.path.join(out, "checkpoint", "deep", "file")), f"they stay: {kept}")
    os.rename(os.path.join(out, "notes.txt"), os.path.join(p.folder, "notes.txt"))
    os.makedirs(out + ".tmp")
    os.rename(os.path.join(p.folder, "notes.txt"), os.path.join(out + ".tmp", "notes.txt"))  # as a kill leaves it
    p.expect("zbc after a kill while it had them", p.run(*compiled), 0)
    p.suite.check(sorted(os.listdir(out)) == kept and not os.path.exists(out + ".tmp"), "they are back")
    inode = os.stat(out).st_ino
    p.expect("zbc -o . in the folder", p.run("zbc", GPT2, "-o", ".", "--ranks", 2, cwd=out), 0)
    p.suite.check(sorted(os.listdir(out)) == kept and os.stat(out).st_ino == inode,
                  "a folder that somebody stands in is the same")
    stays = [name for name in os.listdir(out) if name.startswith("new")]
    p.suite.check(not stays, f"nothing is left in it: {stays}")
    p.expect("and it trains", p.run("zb-run", out, "--data", "text:" + common.CORPUS, "--steps", 1), 0)


def main():
    options = common.arguments(__doc__)
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        places = Places(suite, folder)
        for part in (inputs, pipes_of_a_shell, outputs, two_runs, first_save, plan_folder):
            part(places)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
