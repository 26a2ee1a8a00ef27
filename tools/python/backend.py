"""Builds the wheel of the package (PEP 517, PEP 660) with the standard library alone, so that `pip install
./tools/python` needs no network. There is nothing to compile: a wheel is the Python files of zb (bindings.py writes two
of them here where no build has), and where the checkout is that they come from, in whose build folder libzb is then
looked for. The libraries themselves come along with `pip install ./tools/python -C libraries=build/lib`; of packages
that need the C library alone (tools/install) they make a wheel for any Linux that has it:

usage: backend.py FOLDER LIBRARIES      writes the wheel with these libraries into the folder
"""
import base64
import hashlib
import pathlib
import platform
import re
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIBRARIES = ("libzb.so", "libzb-runtime.so")


def _project():
    text = (HERE / "pyproject.toml").read_text()
    return {key: re.search(r'^%s = "(.*)"$' % key, text, re.M)[1]
            for key in ("name", "version", "description", "requires-python")}


def _metadata(project):
    return ("Metadata-Version: 2.1\nName: %(name)s\nVersion: %(version)s\nSummary: %(description)s\n"
            "Requires-Python: %(requires-python)s\nLicense: Apache-2.0\nProvides-Extra: torch\n"
            "Requires-Dist: torch>=2.6; extra == 'torch'\nDescription-Content-Type: text/markdown\n\n" % project
            + (HERE / "README.md").read_text())


def _checkout():
    return '"""Where the package was built from."""\nCHECKOUT = %r\n' % str(ROOT)


def _libraries(folder):
    """Files of a folder of libraries, and modules beside them, as they lie beside the package."""
    folder = pathlib.Path(folder)
    files = {"zb/lib/" + name: (folder / name).read_bytes() for name in LIBRARIES if (folder / name).exists()}
    if not files:
        raise FileNotFoundError("there is neither %s nor %s in '%s'" % (LIBRARIES + (folder,)))
    beside = sorted((folder / "zb").glob("zb-*.so")) + sorted((folder / "zb").glob("libjansson.so.*"))
    files.update({"zb/lib/zb/" + path.name: path.read_bytes() for path in beside})
    return files


def _platform(libraries):
    """The tag of machines that libraries run on: manylinux with the newest version of the C library that a symbol of
    theirs asks for, where they bring along all else that they need (modules, opened on demand, may need more)."""
    machines = {62: "x86_64", 183: "aarch64"}  # e_machine of ELF
    newest, alone, machine = 0, True, platform.machine()
    for path, data in libraries.items():
        machine = machines.get(int.from_bytes(data[18:20], "little"), machine)
        newest = max([newest] + [int(found) for found in re.findall(rb"\0GLIBC_2\.(\d+)", data)])
        if path in ("zb/lib/" + name for name in LIBRARIES):
            alone = alone and not re.search(rb"\0lib(MLIR|LLVM|stdc\+\+|protobuf-c|gcc_s)[^\0/]*\.so", data)
    return "manylinux_2_%d_%s" % (newest, machine) if alone and "zb/lib/zb/libjansson.so.4" in libraries else \
        "linux_" + machine


def _write(directory, files):
    project = _project()
    name = "%s-%s" % (project["name"], project["version"])
    info = name + ".dist-info"
    libraries = {path: data for path, data in files.items() if path.startswith("zb/lib/")}
    pure = not libraries
    tag = "py3-none-" + ("any" if pure else _platform(libraries))
    files = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    files[info + "/METADATA"] = _metadata(project).encode()
    files[info + "/WHEEL"] = ("Wheel-Version: 1.0\nGenerator: zb\nRoot-Is-Purelib: %s\nTag: %s\n"
                              % ("true" if pure else "false", tag)).encode()
    record = ["%s,sha256=%s,%d" % (path, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(),
                                   len(data)) for path, data in files.items()]
    files[info + "/RECORD"] = ("\n".join(record + [info + "/RECORD,,"]) + "\n").encode()
    wheel = "%s-%s.whl" % (name, tag)
    with zipfile.ZipFile(pathlib.Path(directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return wheel


def _written():
    """The folder of the package, with what the build writes."""
    if not all((HERE / "zb" / name).exists() for name in ("_c.py", "options.py")):
        subprocess.run([sys.executable, str(HERE / "bindings.py")], check=True)
    return HERE / "zb"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {"zb/" + path.name: path.read_text() for path in sorted(_written().glob("*.py"))}
    files["zb/_checkout.py"] = _checkout()
    files["zb/py.typed"] = ""
    libraries = (config_settings or {}).get("libraries")
    if libraries:
        files.update(_libraries(libraries))
    return _write(wheel_directory, files)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, {"zb.pth": str(_written().parent) + "\n"})


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_editable(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("the package belongs to a checkout of zbc: pip install ./tools/python")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    print(pathlib.Path(sys.argv[1]) / build_wheel(sys.argv[1], {"libraries": sys.argv[2]}))
