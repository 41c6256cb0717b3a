"""Attacks on a run of the program."""

import ctypes
import errno
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .target import PLACE, PROGRAM, checked, libc

PTRACE_TRACEME, PTRACE_PEEKDATA, PTRACE_GETREGS, PTRACE_SETREGS, PTRACE_SYSCALL = 0, 2, 12, 13, 24
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
WRITE = 1
REGISTERS = (
    "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss "
    "fs_base gs_base ds es fs gs"
)

libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class Registers(ctypes.Structure):
    """`struct user_regs_struct` of x86-64 (sys/user.h)."""

    _fields_ = [(name, ctypes.c_ulonglong) for name in REGISTERS.split()]


class Span(ctypes.Structure):
    """`struct iovec` (sys/uio.h)."""

    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


@contextmanager
def running(directory: Path = PLACE) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=directory) as child:
        time.sleep(0.1)
        try:
            yield child
        finally:
            child.kill()


def of_process(name: str) -> Callable[[], bool]:
    def look() -> bool:
        # Whoever may open it may read it, though there is not something at every place.
        with running() as child, Path(f"/proc/{child.pid}/{name}").open("rb"):
            return True

    return look


def mapped_files() -> bool:
    with running() as child:
        return bool(list(Path(f"/proc/{child.pid}/map_files").iterdir()))


def traced(request: int) -> Callable[[], bool]:
    def attach() -> bool:
        with running() as child:
            return checked(libc.ptrace(request, child.pid, 0, 0)) == 0

    return attach


def memory_of_another() -> bool:
    room = ctypes.create_string_buffer(8)
    there = Span(ctypes.cast(room, ctypes.c_void_p), 8)
    with running() as child:
        try:
            checked(libc.process_vm_readv(child.pid, ctypes.byref(there), 1, ctypes.byref(there), 1, 0))
        except OSError as error:
            # EFAULT: it may look, but nothing is mapped at that place.
            if error.errno != errno.EFAULT:
                raise
    return True


def core_dump() -> bool:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with running() as child:
        child.send_signal(signal.SIGQUIT)
        child.wait()
    return any(path.name.startswith("core") for path in PLACE.iterdir())


@contextmanager
def started_traced(out: int) -> Iterator[int]:
    pid = os.fork()
    if pid == 0:
        os.dup2(out, 1)
        libc.ptrace(PTRACE_TRACEME, 0, 0, 0)
        os.execv(PROGRAM, [str(PROGRAM)])
    os.waitpid(pid, 0)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def peeked_at() -> bool:
    registers = Registers()
    with started_traced(1) as pid:
        checked(libc.ptrace(PTRACE_GETREGS, pid, 0, ctypes.byref(registers)))
        ctypes.set_errno(0)
        libc.ptrace(PTRACE_PEEKDATA, pid, registers.rip, 0)
        return ctypes.get_errno() == 0


def made_to_write_out_its_memory() -> bool:
    """Its first system call becomes write(1, its own code, 64)."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    registers = Registers()
    with started_traced(write_end) as pid:
        libc.ptrace(PTRACE_SYSCALL, pid, 0, 0)
        os.waitpid(pid, 0)
        checked(libc.ptrace(PTRACE_GETREGS, pid, 0, ctypes.byref(registers)))
        registers.orig_rax, registers.rdi, registers.rsi, registers.rdx = WRITE, 1, registers.rip & ~0xFFF, 64
        checked(libc.ptrace(PTRACE_SETREGS, pid, 0, ctypes.byref(registers)))
        libc.ptrace(PTRACE_SYSCALL, pid, 0, 0)
        os.waitpid(pid, 0)
        return bool(os.read(read_end, 64))


PROCESS_TRIES: dict[str, Callable[[], bool]] = {
    "/proc/exe": of_process("exe"),
    "/proc/mem": of_process("mem"),
    "/proc/maps": of_process("maps"),
    "/proc/environ": of_process("environ"),
    "/proc/map_files": mapped_files,
    "attach": traced(PTRACE_ATTACH),
    "seize": traced(PTRACE_SEIZE),
    "process_vm_readv": memory_of_another,
    "core dump": core_dump,
    "peek": peeked_at,
    "injected write": made_to_write_out_its_memory,
}
