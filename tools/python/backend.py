"""Builds the wheel of the package (PEP 517, PEP 660) with the standard library alone, so that `pip install
./tools/python` needs no network. There is nothing to compile: a wheel is the Python files of zb, and where the checkout
is that they come from, in whose build folder libzb is then looked for. The libraries themselves come along with
`pip install ./tools/python -C libraries=build/lib`.
"""
import base64
import hashlib
import pathlib
import re
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
    files.update({"zb/lib/zb/" + path.name: path.read_bytes() for path in sorted((folder / "zb").glob("zb-*.so"))})
    return files


def _write(directory, files, pure=True):
    project = _project()
    name = "%s-%s" % (project["name"], project["version"])
    info = name + ".dist-info"
    tag = "py3-none-" + ("any" if pure else "linux_" + __import__("platform").machine())
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


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {"zb/" + path.name: path.read_text() for path in sorted((HERE / "zb").glob("*.py"))}
    files["zb/_checkout.py"] = _checkout()
    files["zb/py.typed"] = ""
    libraries = (config_settings or {}).get("libraries")
    if libraries:
        files.update(_libraries(libraries))
    return _write(wheel_directory, files, pure=not libraries)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, {"zb.pth": str(HERE) + "\n"})


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_editable(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("the package belongs to a checkout of zbc: pip install ./tools/python")
