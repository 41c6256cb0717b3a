"""What can be done about each way in which an instance ends without a pass."""

from collections.abc import Mapping

from obo_bench.core.refusal_meanings import MEANINGS
from obo_bench.core.result_reasons import LAUNCHER_REASONS
from obo_bench.programbench.evaluation.verdicts import RULINGS, Blame, Verdict
from obo_bench.programbench.row_reasons import Resume, explain

_GRADE_REMEDIES: Mapping[str, str] = {
    "tests_failed": "the submission's own: the links of the instance lead to every test",
    "compile_failed": "the submission's own: compile.sh does not build; the evaluation's log says why",
    "no_submission": "nothing was handed in: see how its solve ended",
    "submission_changed": "the archive is not the one that was graded: evaluate again",
    "not_evaluated": "evaluate again: what has a proven result is not evaluated twice",
    "image_not_pinned": "give the evaluation the pins of the run with --pin-digests",
}
_BY_BLAME: Mapping[Blame | None, str] = {
    Blame.SUBMISSION: "the submission's own; evaluating again would not change it",
    Blame.HOST: "this machine's: mend what the detail says, then evaluate again",
    Blame.EVALUATOR: "the evaluator's: evaluate again; if it stays, the official package cannot grade it",
    Blame.UNKNOWN: "evaluate again; if it stays, look at the evaluation's log",
}


def row_remedy(reason: str) -> str:
    """Return what happened to an instance that ended so, what can be done, and what a resume does."""
    told = explain(reason)
    remedy = f"{told.meaning}: {told.remedy}" if told.remedy else told.meaning
    if told.resume is Resume.DONE:
        return remedy
    resume = told.resume.value.replace("; ", "; it ").replace("`--retry`", f"`--retry {reason}`")
    return f"{remedy} (a resume {resume})"


def launcher_row_remedy(reason: str, again: str) -> str:
    """Return what is known of an ending that another launcher named; `again` is how its run is gone on with."""
    meaning = LAUNCHER_REASONS.get(reason) or MEANINGS.get(reason) or "the launcher's own word"
    return f"{meaning}: {again}"


def launcher_grade_remedy(verdict: str) -> str:
    """Return what is known of a verdict that a row of another launcher holds."""
    if verdict == Verdict.FAIL:
        return "the verdict that the launcher's row holds: its own files say more"
    return "the launcher's row says that there is no verdict: its own files say more"


def grade_remedy(reason: str) -> str:
    """Return what can be done about a grade that is no pass."""
    ruling = RULINGS.get(reason)
    return _GRADE_REMEDIES.get(reason) or _BY_BLAME.get(ruling.blame if ruling else None, _BY_BLAME[Blame.UNKNOWN])
