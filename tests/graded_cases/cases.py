"""The cases: what was evaluated, and the verdict that it must get."""

from dataclasses import dataclass

from obo_bench.programbench.evaluation.verdicts import Blame
from tests.eval_samples import FAIL, PASS, UNGRADED


@dataclass(frozen=True)
class GradedCase:
    """One case."""

    name: str
    """What was evaluated."""
    verdict: str
    """The verdict that it must get."""
    reason: str
    """The reason that must be given."""
    blame: str | None
    """Who must be blamed."""
    official: bool
    """Whether the evaluator gives a file that is to be believed, so that its score must be kept."""
    exit_status: int = 0
    """How the recorded evaluator ended; negative: the signal."""
    exception: str = ""
    """The exception that the recorded evaluator told of instead of writing a file."""
    said: str = ""
    """Its text."""
    program: str = "wordtally"
    """The practice task that it is reproduced with."""

    @property
    def instance_id(self) -> str:
        """The instance that stands for the case."""
        return f"{self.name}__{self.program}.0000001"


NOT_STARTED = "Failed to start container: docker: "

CASES = (
    GradedCase("correct", PASS, "all_tests_passed", None, True),
    GradedCase("incorrect", FAIL, "tests_failed", Blame.SUBMISSION, True),
    GradedCase("two-branches", PASS, "all_tests_passed", None, True, program="colstat"),
    GradedCase("shipped-tests-unchanged", FAIL, "missing_from_junit_xml", Blame.UNKNOWN, True),
    GradedCase("compile-failed", FAIL, "compile_failed", Blame.SUBMISSION, True),
    GradedCase("compile-missing", FAIL, "compile_failed", Blame.SUBMISSION, True),
    GradedCase("compile-timeout", FAIL, "compile_failed", Blame.SUBMISSION, True),
    GradedCase("executable-missing", FAIL, "copy_executable_failed", Blame.SUBMISSION, True),
    GradedCase("executable-relative-symlink", FAIL, "hash_executable_failed", Blame.SUBMISSION, True),
    GradedCase("original-binary-reused", FAIL, "compile_failed", Blame.SUBMISSION, True, program="colstat"),
    GradedCase("owner-not-root-no-git", UNGRADED, "seed_git_failed", Blame.UNKNOWN, True),
    GradedCase("no-top-entry", UNGRADED, "seed_git_failed", Blame.UNKNOWN, True),
    GradedCase("results-missing", UNGRADED, "results_read_failed", Blame.UNKNOWN, True),
    GradedCase(
        "results-malformed",
        UNGRADED,
        "XmlParseError",
        Blame.UNKNOWN,
        False,
        exception="XmlParseError",
        said="xml_parse_error",
    ),
    GradedCase(
        "output-not-utf8",
        UNGRADED,
        "UnicodeDecodeError",
        Blame.SUBMISSION,
        False,
        exception="UnicodeDecodeError",
        said="'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
    ),
    GradedCase("corrupt-archive", UNGRADED, "submission_corrupt", Blame.SUBMISSION, False),
    GradedCase("empty-directory", UNGRADED, "no_submission", Blame.UNKNOWN, False),
    GradedCase(
        "engine-unreachable",
        UNGRADED,
        "RuntimeError",
        Blame.HOST,
        False,
        exception="RuntimeError",
        said=NOT_STARTED + "Cannot connect to the Docker daemon at unix:///nobody.sock.",
    ),
    GradedCase(
        "image-missing",
        UNGRADED,
        "RuntimeError",
        Blame.HOST,
        False,
        exception="RuntimeError",
        said="Failed to start container: Unable to find image 'x:task_cleanroom_v6' locally",
    ),
    GradedCase(
        "too-many-cpus",
        UNGRADED,
        "RuntimeError",
        Blame.HOST,
        False,
        exception="RuntimeError",
        said=NOT_STARTED + "Error response from daemon: Range of CPUs is from 0.01 to 2.00",
    ),
    GradedCase(
        "tests-missing",
        UNGRADED,
        "FileNotFoundError",
        Blame.HOST,
        False,
        exception="FileNotFoundError",
        said="[Errno 2] No such file or directory: '33128f6b8600.tar.gz'",
    ),
    GradedCase("killed-sigterm", UNGRADED, "evaluator_interrupted", Blame.HOST, False, exit_status=-15),
    GradedCase("killed-then-rerun", PASS, "all_tests_passed", None, True),
    GradedCase("interrupted-group", UNGRADED, "evaluator_interrupted", Blame.HOST, False, exit_status=130),
    GradedCase("bad-filter", UNGRADED, "evaluator_failed", Blame.EVALUATOR, False, exit_status=1),
    GradedCase("bad-slice", UNGRADED, "evaluator_failed", Blame.EVALUATOR, False, exit_status=1),
)
"""All of them, in the order of the records."""

BY_NAME = {case.name: case for case in CASES}
