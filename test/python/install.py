#!/usr/bin/env python3
"""The wheel of the Python package: what is in it, and where what is installed finds the library.

    install.py [BUILD]

Ends with "N passed, N failed".
"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "e2e"))
import common  # noqa: E402

SHOW = "import zb; print(zb.library().path); print(zb.__file__)"


def load_backend():
    spec = importlib.util.spec_from_file_location("backend", ROOT / "tools" / "python" / "backend.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def show(paths, **environment):
    """(status, the library, the package's file, errors) of a Python that finds the package there."""
    values = {name: value for name, value in os.environ.items() if name not in ("ZB_LIBRARY", "PYTHONPATH")}
    values.update(environment, PYTHONPATH=os.pathsep.join(map(str, paths)))
    done = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, env=values, cwd="/")
    library, _, file = done.stdout.strip().partition("\n")
    return done.returncode, library, file, done.stderr


def unpack(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        return archive.namelist()


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
    suite = common.Suite(str(build / "bin"))
    backend = load_backend()
    with common.scratch() as scratch:
        folder = pathlib.Path(scratch)
        plain = folder / backend.build_wheel(folder)
        names = unpack(plain, folder / "plain")
        sources = sorted("zb/" + path.name for path in (ROOT / "tools" / "python" / "zb").glob("*.py"))
        suite.check(plain.name == "zb-0.1.0-py3-none-any.whl", "the name of a wheel: %s" % plain.name)
        suite.check(set(sources) < set(names), "all files: %s" % sorted(set(sources) - set(names)))
        suite.check({"zb/py.typed", "zb/_checkout.py"} <= set(names), "types and the checkout")
        suite.check(not any(name.endswith(".so") for name in names), "no library")
        (folder / "plain" / "zb" / "_c.py").rename(folder / "_c.py")
        errors = show([folder / "plain"])[3]
        suite.check("ninja -C build" in errors.strip().splitlines()[-1], "what the build writes is named: " + errors)
        (folder / "_c.py").rename(folder / "plain" / "zb" / "_c.py")
        # By the variable, else in the checkout's build folder (which is not there where another one is tested).
        status, library, file, errors = show([folder / "plain"], ZB_LIBRARY=str(build / "lib"))
        suite.check(status == 0 and file.startswith(str(folder / "plain")), "it is installed: %s %s" % (file, errors))
        suite.check(library == str(build / "lib" / "libzb.so"), "by the variable: %s" % library)
        if build == (ROOT / "build").resolve():
            status, library, _, errors = show([folder / "plain"])
            suite.check(library == str(ROOT / "build" / "lib" / "libzb.so"),
                        "in the checkout: %s %s" % (library, errors))
        runtime = str(build / "lib" / "libzb-runtime.so")
        status, library, _, _ = show([folder / "plain"], ZB_LIBRARY=runtime)
        suite.check(library == runtime, "the runtime alone: %s" % library)
        whole = folder / backend.build_wheel(folder, {"libraries": str(build / "lib")})
        names = unpack(whole, folder / "whole")
        suite.check("any" not in whole.name and "zb/lib/libzb.so" in names, "a wheel with libraries: %s" % whole.name)
        status, library, _, errors = show([folder / "whole"])
        suite.check(library == str(folder / "whole" / "zb" / "lib" / "libzb.so"), "beside the package: %s %s" %
                    (library, errors))
        editable = folder / backend.build_editable(folder)
        unpack(editable, folder / "editable")
        suite.check((folder / "editable" / "zb.pth").read_text().strip() == str(ROOT / "tools" / "python"), "editable")
        (folder / "plain" / "zb" / "_checkout.py").write_text("CHECKOUT = '/nowhere'\n")
        status, library, _, errors = show([folder / "plain"], PKG_CONFIG_LIBDIR="/nowhere", PATH="/nowhere")
        installed = library.startswith(("/usr", sys.prefix))
        suite.check(installed or (status != 0 and "there is neither libzb.so nor" in errors and "ZB_LIBRARY" in errors),
                    "nowhere: %s %s" % (library, errors))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
