"""The page on decision quality, from made-up results."""

from math import inf
from pathlib import Path

from autoscaler.simulation.study.evaluation.kept import CaseRuns
from autoscaler.simulation.study.evaluation.page import page_of
from autoscaler.simulation.study.evaluation.rows import WAYS, C, Part, Row, planned
from tests.evaluations import in_peaks, kept, run

CASES = planned(Path("results"))


def page(*parts, ratio=0.9, rows=(Row.AGENT,)):
    """Return the page when parts of rows are run."""
    found = []
    for case in CASES:
        is_run = case.part in parts and case.row in rows
        peaks = in_peaks(0.7, 0.4) if case.part is Part.PEAKS else {}
        found.append(kept(case, ratio if is_run else None, peakVersus=peaks))
    return page_of(found)


def line(text, start):
    return next(own for own in text.splitlines() if own.startswith(start))


def test_without_results_the_page_says_so():
    """Every case is listed as not run, and nothing is claimed."""
    text = page()
    assert f"0 of {len(CASES)} planned cases are run." in text
    assert "Not run yet, 14 of 14: C 0.5, A 0.7" in text
    assert "C 0.5 (20 seeds from 9001 to 9020)" in text
    assert "C 0.8 (4 seeds from 1 to 4)" in text
    assert "**reached**" not in text
    assert "**missed**" not in text


def test_a_case_shows_times_ratio_interval_and_waits():
    """As they are kept, the mark beside ours."""
    text = page(Part.BASE)
    assert line(text, "| C 0.5 | 7 |").startswith(
        "| C 0.5 | 7 | 1,000 | 900 | 0.900 (0.880 to 0.920) | better | 100 |"
    )
    assert line(text, "| C 0.5 | - / - |") == "| C 0.5 | - / - | 60 / 60 | 1,234 / 1,234 |"
    assert "| case | mean | 1g.5gb | 7g.40gb |" in text


def test_jobs_that_never_ran_are_told():
    """There is no ratio then, and the target is missed."""
    text = page(Part.BASE, ratio=inf)
    assert "| 3 never ran | jobs that never ran | worse |" in line(text, "| C 0.5 | 7 |")
    assert "**missed**" in text


def test_peaks_and_resampled_days_have_tables_of_their_own():
    """Peaks by their own jobs; resampled days by rule and load over the seeds."""
    text = page(Part.PEAKS, Part.RESAMPLED)
    assert "| C 0.5 3g | 7 | 0.700 | tie | 0.400 |" in line(text, "| C 0.5 3g ")
    assert line(text, "| A 0.4 | 20 |").startswith("| A 0.4 | 20 | 0.900 (0.900 to 0.900) |")
    assert line(text, "| A 0.4 | 20 |").endswith("| none | 500 / 500 |")


def test_other_clusters_of_a_case_are_one_row():
    """The best and the worst of them, because a single one says little."""
    own = [case for case in CASES if case.part is Part.CLUSTERS]
    ratios = [1.0 + 0.1 * case.entry.recipe.cluster_seed for case in own]
    text = page_of([kept(case, ratio) for case, ratio in zip(own, ratios, strict=True)])
    row = line(text, "| C 0.8 | 4 |")
    assert row.startswith("| C 0.8 | 4 | 1.245 (")
    assert "| 1.100 | 1.400 |" in row
    assert len({case.entry.path.name for case in own}) == len(own)


def test_results_of_several_states_of_the_code_are_owned_up_to():
    """They are not all of one product."""
    cases = [kept(case, 0.9) for case in CASES[:2]]
    other = CaseRuns(cases[1].row, cases[1].part, cases[1].recipe, cases[1].runs, 7, "older")
    assert "2 states of the code (code, older)" in page_of([cases[0], other])
    assert "All come from one state of the code (code)" in page_of(cases)


def test_a_row_that_needs_a_note_has_it_below_its_title():
    """As where jobs run faster on larger instances."""
    text = page_of([kept(case, 0.9) for case in CASES])
    title = text.index(f"## {WAYS[Row.TRACES].title}")
    assert text.index("MISO's jobs run faster", title) - title < 200
    assert text.count("MISO's jobs run faster") == 1


def test_peers_are_ordered_by_how_they_do():
    """Ours among them; whoever leaves jobs waiting for ever comes last."""
    peers = {"nos-fixed": 1.1, "ff": 1.05, "7x1g": inf}
    found = []
    for case in CASES:
        own = kept(case, 0.9)
        if case.row is Row.PEERS and case.part is Part.BASE:
            runs = {name: run(name, ratio) for name, ratio in peers.items()}
            own = CaseRuns(case.row, case.part, own.recipe, runs, 7, "code")
        found.append(own)
    text = page_of(found)
    table = text[text.index("| policy |") :].splitlines()[2:6]
    assert [row.split(" | ")[0] for row in table] == [
        "| autoscaler",
        "| ff",
        "| nos-fixed",
        "| 7x1g",
    ]
    assert table[3] == "| 7x1g | - | - | - | 14 |"


def test_cases_of_other_traces_and_fleets_are_called_what_they_are():
    """By trace and column, size of the fleet and model, where those are not the usual."""
    names = [kept(case, None).kind for case in CASES]
    assert "msitp mixed_share 0.5 30 GPUs" in names
    assert "C 0.5 h100-80gb" in names
    assert "A 0.7 200 GPUs" in names
    assert "C 0.5 3g+7g announced" in names


def test_the_order_begins_with_what_tells_most():
    """The first row's base, an early seed before a late one, no case twice."""
    assert {case.row for case in CASES[:14]} == {Row.AGENT}
    assert CASES[0].entry.recipe.column == C
    paths = [case.entry.path for case in CASES]
    assert len(set(paths)) == len(paths)
    early = next(k for k, case in enumerate(CASES) if "seed-9001" in case.entry.path.stem)
    late = next(k for k, case in enumerate(CASES) if "seed-9020" in case.entry.path.stem)
    assert early < late
