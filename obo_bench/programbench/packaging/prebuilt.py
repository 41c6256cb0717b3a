"""Compiled programs among the sources, and build scripts that build nothing: both are warned about, never refused."""

import re
import struct

_ELF = b"\x7fELF"
_OBJECT_ARCHIVE = b"!<arch>\n"
_MACH_O = (b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe")
_MACH_O_FAT = b"\xca\xfe\xba\xbe"
_MOST_ARCHITECTURES = 30
"""In the place of their number a Java class, which begins as a fat Mach-O file does, has a version of 45 or more."""

_SEPARATORS = re.compile(r"\|\||&&|[;|&\n(){}`]|\$\(")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_ASSIGNMENT = re.compile(r"\w+=\S*$")
_PREFIXES = frozenset({"exec", "command", "sudo", "env", "time", "then", "else", "do", "if", "elif", "while", "!"})
_NO_BUILDERS = frozenset(
    {
        *("cp", "mv", "ln", "install", "rsync", "dd", "cat", "tee", "chmod", "chown", "touch", "strip", "split"),
        *("head", "tail", "tr", "cut", "printf", "echo", "base64", "xxd", "od", "tar", "unzip", "zstd"),
        *("gzip", "gunzip", "zcat", "bzip2", "bunzip2", "bzcat", "xz", "unxz", "xzcat"),
        *("set", "cd", "pwd", "mkdir", "rm", "ls", "test", "[", "[[", "]", "]]", "true", ":", "exit", "return"),
        *("trap", "export", "umask", "dirname", "basename", "readlink", "sleep", "sync", "id", "which", "type"),
        *("for", "done", "fi", "esac", "local", "readonly", "shopt"),
    }
)
"""Commands of a script that only brings something finished into its place."""


def is_program(beginning: bytes) -> bool:
    """Tell whether a file that begins so is compiled: ELF, Mach-O, PE, or an archive of object files."""
    if beginning.startswith((_ELF, _OBJECT_ARCHIVE, *_MACH_O)):
        return True
    if beginning.startswith(_MACH_O_FAT) and len(beginning) >= 8:
        return int.from_bytes(beginning[4:8], "big") < _MOST_ARCHITECTURES
    if not beginning.startswith(b"MZ") or len(beginning) < 64:
        return False
    (header,) = struct.unpack_from("<I", beginning, 60)
    return beginning[header : header + 4] == b"PE\0\0"


def builds_nothing(script: bytes) -> bool:
    """Tell whether a shell script has commands, and every one only copies, unpacks, or does nothing to files."""
    text = script.decode("utf-8", "replace").replace("\\\n", " ")
    lines = "\n".join(_COMMENT.sub("", line) for line in text.splitlines())
    words = [word for part in _SEPARATORS.split(lines) if (word := _command(part))]
    return bool(words) and all(word in _NO_BUILDERS for word in words)


def _command(part: str) -> str:
    """Return the name of the program that one simple command starts, without its directory."""
    for word in part.split():
        if word not in _PREFIXES and not _ASSIGNMENT.match(word):
            return word.strip("\"'").rpartition("/")[2]
    return ""
