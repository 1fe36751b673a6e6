"""Each API asks for the rights it takes: without one of them it is denied, or what it would tell is not there."""

import pytest

from support.guarded.stage import ADMIN, SecuredStage
from support.guarded.table import CASES, DENIALS, TRIALS, Trial, codes


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_a_request_is_denied_unless_the_user_has_all_it_takes(
    stage: SecuredStage, trial: Trial
) -> None:
    answer = stage.try_(trial)

    is_enough = trial.case.is_enough(trial.rights)
    if trial.case.hides:
        assert (trial.case.hides in repr(answer)) is is_enough
    elif not any(right.operation.name == "DESCRIBE" for right in trial.case.any_of):
        assert bool(DENIALS & set(codes(answer))) is not is_enough, answer


@pytest.mark.parametrize("case", [each for each in CASES if each.hides], ids=lambda each: each.api)
def test_what_others_do_not_see_is_there(stage: SecuredStage, case: object) -> None:
    answer = stage.ask(ADMIN, case.api, case.values)  # type: ignore[attr-defined]

    assert case.hides in repr(answer)  # type: ignore[attr-defined]
