"""What the checks share: the options, and what is asked only once of engine, server, checkout and settings file."""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obo_bench.core.admission import SeedDemands
from obo_bench.core.redact import process_redactor
from obo_bench.gateway import DEFAULT_URL
from obo_bench.programbench.doctor.once import Once
from obo_bench.programbench.doctor.verdict import CannotLook

if TYPE_CHECKING:
    from obo_bench.core.seed.gate import SeedReport
    from obo_bench.engine.daemon import Engine
    from obo_bench.gateway.admission.live_settings import LiveSettings
    from obo_bench.gateway.admission.readiness import Readiness
    from obo_bench.gateway.admission.settings import SettingsFile
    from obo_bench.gateway.client import GatewayClient
    from obo_bench.gateway.wire import Health
    from obo_bench.programbench.options import RunOptions

PATIENCE_SEC = 30.0
"""All checks together take at most so long."""
_SHARED = 0.8
"""Share of it that a check waits for what another one is asking for."""
_ASK = 0.6
"""Share of it that git and the evaluator's Python have."""
_CALL_SEC = 5.0
"""How long the server has for one answer: a healthy one needs milliseconds."""


@dataclass(frozen=True)
class DoctorOptions:
    """What the operator asked for."""

    repo_dir: Path | None
    """The checkout that the server runs from; None where none is named and the current directory is none."""
    runs_root: Path | None
    """Where runs are kept; None where nothing tells it."""
    settings_path: Path | None
    """The server's settings file; None where nothing tells it."""
    settings_named: bool = False
    """Whether the operator named it."""
    url: str = DEFAULT_URL
    """The server's address."""
    solve_model: str | None = None
    """The model that must solve."""
    seed: SeedDemands = field(default_factory=SeedDemands)
    """What the checkout must be."""
    expected_version: str | None = None
    """Version the server must run, where it is not the checkout's."""

    def as_run(self) -> "RunOptions":
        """Return the options of the run that would be started without any others."""
        from obo_bench.programbench.options import RunOptions

        nowhere = Path(os.devnull)
        return RunOptions(self.repo_dir or nowhere, self.runs_root or nowhere, self.settings_path or nowhere)


class World:
    """The shared answers; `close` ends all connections."""

    def __init__(
        self, options: DoctorOptions, patience_sec: float = PATIENCE_SEC, environ: Mapping[str, str] = os.environ
    ) -> None:
        self.options = options
        """What was asked for."""
        self.environ = environ
        """The environment of this process."""
        self.ask_sec = _ASK * patience_sec
        """How long a program that is asked something has, in seconds."""
        self.call_sec = min(_CALL_SEC, _ASK * patience_sec)
        """How long the server has for one answer, in seconds."""
        shared = _SHARED * patience_sec
        self.engine: Once[Engine] = Once("no Docker engine answers", self._connect, shared)
        """The Docker daemon."""
        self.engine_info: Once[dict[str, Any]] = Once("the Docker engine does not describe itself", self._info, shared)
        """What it says of itself."""
        self.client: Once[GatewayClient] = Once("the server cannot be asked", self._open_client, shared)
        """The server's client, with the password that environment or settings file hold."""
        self.health: Once[Health] = Once("the server does not say who it is", self._health, shared)
        """The server's identity."""
        self.readiness: Once[Readiness] = Once("the server does not tell its state", self._readiness, shared)
        """Whether it can take tasks."""
        self.live: Once[LiveSettings] = Once("the server does not show its settings", self._live, shared)
        """Its settings."""
        self.file: Once[SettingsFile] = Once("there are no settings to look at", self._settings, shared)
        """The settings file."""
        self.seed: Once[SeedReport] = Once("there is no checkout to look at", self._seed, shared)
        """The checkout and what the gates say to it."""

    def close(self) -> None:
        """End the connections to engine and server, as far as they were made."""
        engine = self.engine.answer()
        if engine is not None:
            engine.close()
        client = self.client.answer()
        if client is not None:
            client.close()

    def _open_client(self) -> "GatewayClient":
        from obo_bench.gateway.admission.preflight import network_password
        from obo_bench.gateway.client import GatewayClient, password_from_environment

        password = password_from_environment(self.environ)
        with contextlib.suppress(CannotLook):
            password = network_password(self.file.need())
        return GatewayClient(self.options.url, password=password, deadline_sec=self.call_sec)

    def live_values(self) -> Mapping[str, Any]:
        """Return the live settings; raises CannotLook when the server does not show them."""
        self.health.need()
        values = self.live.need().values
        if values is None:
            raise CannotLook("the server does not show its settings")
        return values

    def version(self) -> str | None:
        """Return the checkout's version; None when it is not known."""
        with contextlib.suppress(CannotLook):
            return self.seed.need().source.version
        return None

    def _connect(self) -> "Engine":
        from obo_bench.engine.daemon import connect_engine

        return connect_engine(self.environ)

    def _info(self) -> dict[str, Any]:
        client = self.engine.need().client
        return {**client.info(), "api": client.version()}

    def _health(self) -> "Health":
        return self.client.ask().health()

    def _readiness(self) -> "Readiness":
        from obo_bench.gateway.admission.readiness import read_readiness

        return read_readiness(self.client.ask())

    def _live(self) -> "LiveSettings":
        from obo_bench.gateway.admission.live_settings import custom_secrets, read_live_settings

        found = read_live_settings(self.client.ask())
        with contextlib.suppress(CannotLook):
            process_redactor().learn(self.file.need().secrets(custom_secrets(found.values or {})))
        return found

    def _settings(self) -> "SettingsFile":
        from obo_bench.gateway.admission.settings import load_settings

        if self.options.settings_path is None:
            raise CannotLook("neither --settings-path nor a checkout tells where the settings are")
        found = load_settings(self.options.settings_path, named=self.options.settings_named)
        process_redactor().learn(found.secrets())
        return found

    def _seed(self) -> "SeedReport":
        from obo_bench.core.seed.gate import examine_seed

        if self.options.repo_dir is None:
            raise CannotLook("no checkout is named, and the current directory is none")
        report = examine_seed(self.options.repo_dir, self.options.seed, timeout=self.ask_sec)
        process_redactor().learn(report.secrets)
        return report
