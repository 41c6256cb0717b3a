"""The violations that are planted, and harmless code that must not be taken for one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One way to touch the world, or not to."""

    expression: str
    """What is evaluated; without double quotes."""
    imports: str = ""
    """The import that it needs, itself harmless unless it is the violation."""

    @property
    def statement(self) -> list[str]:
        return [*([self.imports] if self.imports else []), self.expression]


_OS, _PATH, _PROCESS = "import os", "from pathlib import Path", "import subprocess"
_SECRET = "'/etc/hostname'"
_HERE = f"Path({_SECRET})"

VIOLATIONS: dict[str, Kind] = {
    "open": Kind(f"open({_SECRET}).read()"),
    "io.open": Kind(f"io.open({_SECRET})", "import io"),
    "Path.read_text": Kind(f"{_HERE}.read_text()", _PATH),
    "Path.read_bytes": Kind(f"{_HERE}.read_bytes()", _PATH),
    "Path.exists": Kind(f"{_HERE}.exists()", _PATH),
    "Path.is_file": Kind(f"{_HERE}.is_file()", _PATH),
    "Path.stat": Kind(f"{_HERE}.stat()", _PATH),
    "Path.resolve": Kind(f"{_HERE}.resolve()", _PATH),
    "Path.expanduser": Kind("Path('~').expanduser()", _PATH),
    "Path.mkdir": Kind("Path('/tmp/planted').mkdir(parents=True, exist_ok=True)", _PATH),
    "Path.iterdir": Kind("list(Path('/etc').iterdir())", _PATH),
    "Path.rglob": Kind("next(Path('/etc').rglob('*'))", _PATH),
    "Path.write_text": Kind("Path('/tmp/planted.txt').write_text('x')", _PATH),
    "Path.unlink": Kind("Path('/tmp/planted.txt').unlink(missing_ok=True)", _PATH),
    "Path.home": Kind("Path.home()", _PATH),
    "Path.open, renamed": Kind(f"(lambda where: where.open())(P({_SECRET}))", "from pathlib import Path as P"),
    "os.stat": Kind(f"os.stat({_SECRET})", _OS),
    "os.listdir": Kind("os.listdir('/etc')", _OS),
    "os.scandir": Kind("os.scandir('/etc').close()", _OS),
    "os.path.exists": Kind(f"os.path.exists({_SECRET})", _OS),
    "os.access": Kind(f"os.access({_SECRET}, 4)", _OS),
    "os.makedirs": Kind("os.makedirs('/tmp/planted', exist_ok=True)", _OS),
    "os.open": Kind(f"os.open({_SECRET}, os.O_RDONLY)", _OS),
    "os.chdir": Kind("os.chdir('/')", _OS),
    "os.system": Kind("os.system('true')", _OS),
    "os.popen": Kind("os.popen('true').read()", _OS),
    "os.kill": Kind("os.kill(os.getpid(), 0)", _OS),
    "posix.stat": Kind(f"posix.stat({_SECRET})", "import posix"),
    "subprocess.run": Kind("subprocess.run(['true'], check=False)", _PROCESS),
    "subprocess.Popen": Kind("subprocess.Popen(['true']).wait()", _PROCESS),
    "asyncio": Kind("asyncio.run(asyncio.sleep(0))", "import asyncio"),
    "multiprocessing": Kind("multiprocessing.Process(target=print).start()", "import multiprocessing"),
    "threading.Thread": Kind("threading.Thread(target=print).start()", "import threading"),
    "socket": Kind("socket.socket().close()", "import socket"),
    "socket.create_connection": Kind("socket.create_connection(('127.0.0.1', 9))", "import socket"),
    "urllib": Kind("urllib.request.urlopen('http://127.0.0.1:9')", "import urllib.request"),
    "http.client": Kind("http.client.HTTPConnection('127.0.0.1', 9).connect()", "import http.client"),
    "git helper": Kind("git(Path('.'), 'status')", "from obo_bench.core.git import git; from pathlib import Path"),
    "process helper": Kind("ask(['true'], {}, 5)", "from obo_bench.core.process import ask"),
    "state dump": Kind("write_json('/tmp/planted.json', {})", "from obo_bench.core.files import write_json"),
    "state read": Kind("read_json_object('/tmp/planted.json')", "from obo_bench.core.files import read_json_object"),
    "file hash": Kind(f"sha256_file({_SECRET})", "from obo_bench.core.files import sha256_file"),
    "second lock": Kind(
        "RunLock(Path('/tmp'), 'x').acquire()", "from obo_bench.core.lock import RunLock; from pathlib import Path"
    ),
    "manifest store": Kind(
        "ManifestStore(Path('/tmp/planted'), 'm.json', 'i').prepare()",
        "from obo_bench.core.record import ManifestStore; from pathlib import Path",
    ),
    "dataset": Kind("load_instances()", "from obo_bench.programbench.instances import load_instances"),
    "docker.from_env": Kind("docker.from_env()", "import docker"),
    "httpx.get": Kind("httpx.get('http://127.0.0.1:9')", "import httpx"),
    "requests.get": Kind("requests.get('http://127.0.0.1:9', timeout=1)", "import requests"),
    "import docker": Kind("None", "import docker"),
    "import httpx": Kind("None", "from httpx import Client"),
    "import programbench": Kind("None", "import programbench.utils"),
    "import through ours": Kind("None", "import obo_bench.gateway.client"),
    "importlib": Kind("importlib.import_module('docker')", "import importlib"),
    "importlib, renamed": Kind("load('docker')", "from importlib import import_module as load"),
    "importlib.metadata": Kind("importlib.metadata.version('docker')", "import importlib.metadata"),
    "importlib.resources": Kind("importlib.resources.files('json')", "import importlib.resources"),
    "__import__": Kind("__import__('docker')"),
    "runpy": Kind("runpy.run_module('this')", "import runpy"),
    "exec": Kind("exec('import docker')"),
    "eval": Kind("eval('1')"),
    "computed attribute": Kind("getattr(os, 'sys' + 'tem')('true')", _OS),
    "constant attribute": Kind(f"getattr(os, 'stat')({_SECRET})", _OS),
    "globals": Kind("globals()['__builtins__']"),
    "sys.modules": Kind("sys.modules['os'].system('true')", "import sys"),
    "vars": Kind(f"vars(os)['stat']({_SECRET})", _OS),
    "__dict__": Kind(f"os.__dict__['stat']({_SECRET})", _OS),
    "handed to map": Kind(f"list(map(os.path.exists, [{_SECRET}]))", _OS),
    "handed to partial": Kind(f"functools.partial(open, {_SECRET})()", "import functools"),
    "sort key": Kind(f"sorted([{_SECRET}], key=os.path.getsize)", _OS),
    "methodcaller": Kind(f"operator.methodcaller('read_text')(Path({_SECRET}))", "import operator; " + _PATH),
    "tempfile": Kind("tempfile.mkstemp()", "import tempfile"),
    "tempfile.TemporaryDirectory": Kind("tempfile.TemporaryDirectory().cleanup()", "import tempfile"),
    "shutil.which": Kind("shutil.which('git')", "import shutil"),
    "shutil.disk_usage": Kind("shutil.disk_usage('/')", "import shutil"),
    "glob": Kind("glob.glob('/etc/*')", "import glob"),
    "ctypes": Kind("ctypes.CDLL(None)", "import ctypes"),
    "sqlite3": Kind("sqlite3.connect(':memory:')", "import sqlite3"),
    "logging to a file": Kind("logging.FileHandler('/tmp/planted.log')", "import logging"),
    "platform.uname": Kind("platform.uname()", "import platform"),
    "getpass": Kind("getpass.getuser()", "import getpass"),
    "environment": Kind("os.environ.update(PLANTED='1')", _OS),
    "environment item": Kind("os.environ.__setitem__('PLANTED', '1')", _OS),
    "patched": Kind("setattr(os, 'sep', '/')", _OS),
}
"""Kind to code; every one must be reported wherever it is planted before admission."""

HARMLESS_CODE: dict[str, Kind] = {
    "len": Kind("len('x')"),
    "str": Kind("' a,b '.strip().split(',')[0].upper()"),
    "format": Kind("'{0:>{1}}'.format('x', 5)"),
    "path arithmetic": Kind("(Path('a') / 'b').with_suffix('.json').name", _PATH),
    "path.absolute": Kind("Path('a').absolute().parent", _PATH),
    "os.path.join": Kind("os.path.join('a', os.path.basename('/b/c'))", _OS),
    "environment": Kind("os.environ.get('HOME', '').lower()", _OS),
    "re": Kind("re.compile('x+').fullmatch('xx')", "import re"),
    "match group": Kind("re.match('(x)', 'x').group(1).strip()", "import re"),
    "urlsplit": Kind("urlsplit('http://h:1/p').hostname", "from urllib.parse import urlsplit"),
    "math": Kind("math.isfinite(1.0)", "import math"),
    "sorted": Kind("sorted({3, 1}, key=lambda number: -number)"),
    "json": Kind("json.dumps({'a': [1, 2]}, indent=2).encode()", "import json"),
    "dict": Kind("{'a': 'b'}.get('a', '').title()"),
    "comprehension": Kind("{name: len(name) for name in ('a', 'bb') if name.isalpha()}"),
    "time": Kind("time.strftime('%Y')", "import time"),
    "getattr": Kind("getattr('x', 'upper')()"),
    "refusal": Kind("UsageError('x').args", "from obo_bench.core.refusals import UsageError"),
    "own helper": Kind("check_run_id('r')", "from obo_bench.core.roots import check_run_id"),
    "lambda": Kind("(lambda text: text)('x')"),
}
"""Kind to code that depends on nothing; none may be reported."""
