"""What can be done about each way in which an instance ends without a pass."""

from collections.abc import Mapping

from obo_bench.programbench.evaluation.accounts import NO_ROW
from obo_bench.programbench.evaluation.verdicts import RULINGS, Blame
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
    if reason == NO_ROW:
        return "no invocation came to it: resume the run"
    told = explain(reason)
    remedy = f"{told.meaning}: {told.remedy}" if told.remedy else told.meaning
    if told.resume is Resume.DONE:
        return remedy
    return f"{remedy} (a resume {told.resume.value.replace('`--retry`', f'`--retry {reason}`')})"


def grade_remedy(reason: str) -> str:
    """Return what can be done about a grade that is no pass."""
    ruling = RULINGS.get(reason)
    return _GRADE_REMEDIES.get(reason) or _BY_BLAME.get(ruling.blame if ruling else None, _BY_BLAME[Blame.UNKNOWN])
