"""What runs inside the containers that become the practice images: the shell scripts and their input."""

from obo_bench.practice.tarball import tar_bytes
from obo_bench.practice.tasks import PracticeTask

PACKAGES = (
    *("base-files", "bash", "dash", "coreutils", "libc-bin", "debianutils", "tar", "gzip", "sed", "grep", "findutils"),
    *("diffutils", "mawk", "git", "python3", "python3-pytest", "python3-pytest-xdist", "python3-pytest-timeout"),
    *("tcc", "libc6-dev", "make"),
)
"""Debian packages that the evaluator and the solutions need; Python brings pytest with xdist and timeout."""

REGISTRY_BASE = "debian:bookworm-slim"
"""Where the base image comes from on a machine without apt."""

DOCKERFILE = f"""FROM --platform=linux/amd64 {REGISTRY_BASE}
RUN apt-get update \\
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends {" ".join(PACKAGES)} \\
 && rm -rf /var/lib/apt/lists/*
"""
"""The same base for such a machine."""

BASE_SCRIPT = """
set -eu
command -v cc >/dev/null || ln -s tcc /usr/bin/cc
for line in root:x:0:0:root:/root:/bin/bash agent:x:1000:1000:agent:/home/agent:/bin/bash; do
  grep -qs "^${line%%:*}:" /etc/passwd || echo "$line" >>/etc/passwd
  grep -qs "^${line%%:*}:" /etc/group || echo "${line%%:*}:x:$(echo "$line" | cut -d: -f4):" >>/etc/group
done
mkdir -p /home/agent /opt /workspace
chown 1000:1000 /home/agent /workspace
mkdir /tmp/check
cd /tmp/check
echo 'int main(void) { return 0; }' >check.c
cc -o program check.c
echo 'def test_program(): assert __import__("subprocess").call(["./program"]) == 0' >test_check.py
git init -q . 2>/dev/null
python3 -m pytest -q -n 1 --timeout=60 test_check.py
python3 -m pytest -q --timeout=60 --junitxml=results.xml test_check.py
cd /
rm -rf /tmp/check
"""
"""Adds the user, and uses every tool once: that proves the image and leaves compiled Python modules for later runs."""

TASK_SCRIPT = """
set -eu
umask 022
mkdir /tmp/task
tar -xf - -C /tmp/task
cd /tmp/task
cp -r docs /workspace/docs
echo /executable >/workspace/.gitignore
if [ -e reference.c ]; then
  cc -O2 -o /workspace/executable reference.c
  chmod 0111 /workspace/executable
else
  cp reference.script /workspace/executable
  chmod 0555 /workspace/executable
fi
cd /workspace
export GIT_AUTHOR_DATE=2024-01-01T00:00:00Z GIT_COMMITTER_DATE=2024-01-01T00:00:00Z
chown root:root .
git -c init.defaultBranch=main init -q .
git add -A
git -c user.name=practice -c user.email=practice@localhost commit -q -m 'Practice task'
chown -R 1000:1000 .git .gitignore docs
chown 1000:1000 .
rm -rf /tmp/task
"""
"""Lays out /workspace: documents in a repository of the user `agent`, and the reference, owned by root."""


def task_input(task: PracticeTask) -> bytes:
    """Return the archive that `TASK_SCRIPT` reads: the documents and the reference's source."""
    reference = "reference.c" if task.compiled else "reference.script"
    members = {f"docs/{path}": entry for path, entry in task.docs().items()}
    return tar_bytes({**members, reference: (task.reference_source(), 0o644)})
