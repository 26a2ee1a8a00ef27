"""Where the libraries of CUDA lie on a machine that has them only as wheels of pip (with PyTorch, for one), which
the dynamic linker does not know."""
import glob
import os
import re
import subprocess

WANTED = ("libcublasLt.so.1[23]", "libnccl.so.2")


def of_wheels(python):
    """Folders of wheels that a Python sees: nvidia/cu13/lib of CUDA 13, nvidia/cublas/lib of CUDA 12,
    nvidia/nccl/lib."""
    try:
        process = subprocess.run([python, "-c", "import sys; print('\\n'.join(sys.path))"],
                                 capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    found = []
    for place in process.stdout.splitlines():
        for name in WANTED:
            for file in sorted(glob.glob(os.path.join(place or ".", "nvidia", "*", "lib", name)), reverse=True):
                folder = os.path.dirname(os.path.abspath(file))
                if folder not in found:
                    found.append(folder)
    return found


def add(folders):
    """Makes programs that are started from now on look there, too: behind what LD_LIBRARY_PATH says already."""
    old = [part for part in os.environ.get("LD_LIBRARY_PATH", "").split(":") if part]
    os.environ["LD_LIBRARY_PATH"] = ":".join(old + [folder for folder in folders if folder not in old])


def device_line(zb_run, device):
    """What `zb-run --list-devices` says of a device, on one line; or why it could not be asked."""
    try:
        process = subprocess.run([zb_run, "--list-devices"], capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as failure:
        return f"not here: {failure}"
    if process.returncode:
        return "not here: " + (process.stderr.strip() or f"zb-run --list-devices: exit status {process.returncode}")
    for line in process.stdout.splitlines():
        if line.split()[:1] == [device]:
            return re.sub(r"\(module \S*/", "(module ", " ".join(line.split()[1:]))  # results name no folder
    return "not here: this zb-run does not know it"


def find(zb_run, python, device="cuda"):
    """device_line: with the libraries that run.py packed, and with those of Python's wheels where it is without
    them that the device is not here."""
    shared = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(zb_run))), "shared")
    if os.path.isdir(shared):
        add([shared])
    line = device_line(zb_run, device)
    if not line.startswith("not here") or "libcublasLt" not in line:
        return line
    folders = of_wheels(python)
    if not folders:
        return line
    add(folders)
    print("cuBLAS is not where the dynamic linker looks: with "
          f"LD_LIBRARY_PATH={os.environ['LD_LIBRARY_PATH']}", flush=True)
    return device_line(zb_run, device)
