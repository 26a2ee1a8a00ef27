#!/usr/bin/env python3
"""Starts a program in several processes as torchrun or srun would, with their variables and nothing else of them.

    start.py -n N --as torchrun|srun [--address HOST] [--inside 1=SPACE,3=SPACE] PROGRAM ARGUMENTS...

Standard input, output and errors are shared. --inside: process 1 in that network namespace. Ends when all have ended,
with the status of the first that failed, or that a signal ended (128 + signal). Nothing that runs is ended; only who is
stopped (SIGSTOP) is killed once another has failed, as launchers do.
"""
import argparse
import os
import signal
import socket
import subprocess
import sys
import time

GRACE_SECONDS = 1.0


def free_port():
    """Below those that the system gives to connections: one of these may be taken by any program before process 0
    listens there. Starts at the same time take different ones, by their process ids."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        end = min(int(file.read().split()[0]), 1 << 15)
    begin = 10000 if end > 12000 else 1024
    for number in range(end - begin):
        port = begin + (7 * os.getpid() + number) % (end - begin)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
                return port
            except OSError:
                continue
    raise OSError("there is no free port")


def variables(kind, process, processes, address, port):
    if kind == "torchrun":
        return {"RANK": process, "WORLD_SIZE": processes, "LOCAL_RANK": process,
                "MASTER_ADDR": address, "MASTER_PORT": port}
    return {"SLURM_PROCID": process, "SLURM_NTASKS": processes, "SLURM_LOCALID": process,
            "SLURM_STEP_NODELIST": f"{address},far[1-{processes}]", "SLURM_JOB_ID": 10 * port, "SLURM_STEP_ID": 0}


def is_stopped(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "T"
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, required=True)
    parser.add_argument("--as", dest="kind", choices=("torchrun", "srun"), default="torchrun")
    parser.add_argument("--address", default="localhost")
    parser.add_argument("--inside", default="")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    inside = dict(pair.split("=") for pair in filter(None, options.inside.split(",")))
    port, status, failed, killed = free_port(), 0, None, False
    running = {}
    for process in range(options.n):
        environment = dict(os.environ)
        own = variables(options.kind, process, options.n, options.address, port)
        environment.update({name: str(value) for name, value in own.items()})
        space = inside.get(str(process))
        command = ["ip", "netns", "exec", space, *options.command] if space else options.command
        running[process] = subprocess.Popen(command, env=environment)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: [process.send_signal(number) for process in running.values()])
    while running:
        for process in [number for number, process in running.items() if process.poll() is not None]:
            code = running.pop(process).returncode
            if code and failed is None:
                status, failed = code, time.monotonic()
            if code < 0 < status and not killed:  # the others may be gone in the same moment
                status = code
        if failed is not None and time.monotonic() - failed > GRACE_SECONDS:
            for process in running.values():
                if is_stopped(process.pid):
                    killed = True
                    process.kill()
        time.sleep(0.01)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
