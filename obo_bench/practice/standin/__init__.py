"""The stand-in gateway: speaks the recorded contract of an Ouroboros server, with a scripted solver behind it."""

from obo_bench.practice.standin.config import StandInConfig
from obo_bench.practice.standin.faults import Fault, parse_fault
from obo_bench.practice.standin.scenarios import SCENARIOS, Ending, Scenario
from obo_bench.practice.standin.solver import PracticeTask, Probe, TaskSource
from obo_bench.practice.standin.standin import StandIn, serve

__all__ = [
    "SCENARIOS",
    "Ending",
    "Fault",
    "PracticeTask",
    "Probe",
    "Scenario",
    "StandIn",
    "StandInConfig",
    "TaskSource",
    "parse_fault",
    "serve",
]
