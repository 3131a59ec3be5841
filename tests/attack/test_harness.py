"""The attacks cannot pass in silence: every way in which a case can fail is noticed, and a case can be repeated."""

from __future__ import annotations

import pytest
from attack.attacks import all_attacks, find
from attack.main import main
from attack.protocol import FAILURES
from attack.running import Result, Run, run_all, run_block
from tests.attack.faults import FAULTS


def found(name, work, jobs=1):
    (result,) = run_all([find(f"tests.attack.faults:{name}")], seed=3, scale=1, work=work, jobs=jobs)
    return result


@pytest.mark.slow
def test_every_way_to_fail_is_noticed_and_the_cases_behind_it_run(tmp_path):
    result = found("planted", tmp_path)
    assert not result.broken
    assert [verdict.outcome for _, verdict in sorted(result.verdicts.items())] == [wanted for _, wanted in FAULTS]
    assert {wanted for _, wanted in FAULTS} >= set(FAILURES)


def test_a_case_is_the_same_alone_as_among_others(tmp_path):
    among = found("refused", tmp_path)
    alone = Result(among.attack, 1, 60.0)
    run_block(Run(3, tmp_path), alone, 5, 6)
    assert alone.verdicts[5].detail == among.verdicts[5].detail
    assert len({verdict.detail for verdict in among.verdicts.values()}) == 9


def test_the_status_and_the_report_say_what_failed_and_how_to_repeat_it(tmp_path, capsys):
    assert main(["--only", "tests.attack.faults:another", "--seed", "5", "--page", str(tmp_path / "page.md")]) == 1
    told = capsys.readouterr().out
    assert "1 × untyped error" in told
    assert "python -m attack.run --only tests.attack.faults:another --case 0 --seed 5" in told
    page = (tmp_path / "page.md").read_text()
    assert "commit `" in page
    assert "KeyError at faults.py" in page
    assert main(["--only", "tests.attack.faults:refused", "--case", "2"]) == 0


def test_an_attack_that_cannot_run_is_a_failure(capsys):
    assert main(["--only", "tests.attack.faults:unprepared"]) == 1
    assert "there are no samples" in capsys.readouterr().out


def test_attacks_have_names_of_their_own_and_say_what_they_try():
    attacks = all_attacks()
    assert len({attack.name for attack in attacks}) == len(attacks) >= 30
    assert all(attack.tries and "|" not in attack.tries for attack in attacks)
    with pytest.raises(SystemExit, match="no attack 'nothing'"):
        find("nothing")
