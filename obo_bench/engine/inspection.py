"""What the engine's inspection of a container says about it, compared with what it must be."""

from collections.abc import Iterable, Mapping
from typing import Any

from obo_bench.engine.cleanroom_spec import DROPPED_CAPABILITIES, WORKSPACE, CleanroomSpec

_LONGEST_ERROR = 500


def differences(attrs: Mapping[str, Any], spec: CleanroomSpec) -> list[str]:
    """Return how an inspected container differs from its specification."""
    host = attrs["HostConfig"]
    found = not_isolated(attrs)
    missing = sorted(set(DROPPED_CAPABILITIES) - capabilities(host.get("CapDrop")))
    if missing:
        found.append(f"capabilities {missing} were not dropped")
    if attrs.get("Config", {}).get("User") != spec.user:
        found.append(f"it runs as {attrs.get('Config', {}).get('User')!r}, not {spec.user!r}")
    if not any(mount.get("Destination") == WORKSPACE for mount in attrs.get("Mounts") or []):
        found.append(f"nothing is mounted at {WORKSPACE}")
    return found


def not_isolated(attrs: Mapping[str, Any]) -> list[str]:
    """Return what keeps a container from being a running one without network and privileges."""
    host = attrs["HostConfig"]
    networks = attrs.get("NetworkSettings", {}).get("Networks") or {}
    found = _ended(attrs["State"])
    if host.get("NetworkMode") != "none" or any(name != "none" for name in networks):
        found.append(f"its network is {host.get('NetworkMode')!r} {sorted(networks)}, not 'none'")
    if host.get("Privileged"):
        found.append("it is privileged")
    return found


def capabilities(listed: Iterable[object] | None) -> set[str]:
    """Return capabilities as an inspection lists them, by one spelling."""
    return {str(name).upper().removeprefix("CAP_") for name in listed or ()}


def is_paused(attrs: Mapping[str, Any]) -> bool:
    """Say whether the container's processes are frozen."""
    return bool(attrs["State"].get("Paused"))


def exit_facts(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the exit detail of a container for the record; null where it still runs."""
    state = attrs["State"]
    ended = not state.get("Running")
    return {
        "status": state.get("Status"),
        "exit_code": state.get("ExitCode") if ended else None,
        "oom_killed": bool(state.get("OOMKilled")),
        "error": str(state.get("Error") or "")[:_LONGEST_ERROR],
        "finished_at": state.get("FinishedAt") if ended else None,
        "networks": sorted(attrs.get("NetworkSettings", {}).get("Networks") or {}),
    }


def _ended(state: Mapping[str, Any]) -> list[str]:
    if state.get("Running"):
        return []
    killed = ", out of memory" if state.get("OOMKilled") else ""
    said = f": {str(state['Error'])[:_LONGEST_ERROR]}" if state.get("Error") else ""
    return [f"it is {state.get('Status')} (exit {state.get('ExitCode')}{killed}){said}"]
