"""``simulate``: what policies would do with the jobs of a trace."""

from autoscaler.adapters.policy_file import load_policy
from autoscaler.agent.wiring import new_agent
from autoscaler.cli import simulate_advice as advice
from autoscaler.cli import simulate_options as options
from autoscaler.cli import simulate_report as files
from autoscaler.cli import simulate_scenario as scenarios
from autoscaler.cli import simulate_sources as sources
from autoscaler.cli import simulate_sweep as kept
from autoscaler.cli.option_groups import GroupedCommand
from autoscaler.cli.output import emit
from autoscaler.cli.simulate_run import run_all
from autoscaler.cli.simulate_view import draw_cases, notices_of, told_runs
from autoscaler.domain.policy.policy import Policy
from autoscaler.simulation.study.comparison import Comparison
from autoscaler.simulation.study.division import Division
from autoscaler.simulation.study.policies import (
    GPUS_PER_NODE,
    Conditions,
    draw_by_seed,
    has_loop,
)
from autoscaler.simulation.study.recipe import draws_of, on_clusters, recipes_of
from autoscaler.simulation.study.splits import Draw
from autoscaler.simulation.study.sweep import case_document
from autoscaler.simulation.study.unthrottled import unthrottled


def run_simulation(
    given: scenarios.ScenarioOptions,
    wanted: sources.Wanted,
    chosen: options.CaseOptions,
    runs: options.RunOptions,
    sweeps: kept.SweepOptions,
    advising: advice.AdviceOptions,
    outputs: files.OutputOptions,
) -> None:
    """Run policies on the jobs of a trace, and compare how long jobs take."""
    files.check(outputs)
    kept.check(sweeps, has_files=bool(outputs.report or outputs.png))
    advice.check(
        advising,
        has_files=bool(outputs.report or outputs.png or sweeps.sweep),
        has_policies=runs.policies != options.USUAL,
    )
    policy = None
    if given.scenario is None:
        policy = load_policy(runs.policy).policy if runs.policy else None
        comparison = comparison_of(wanted, chosen, runs, policy)
    else:
        comparison = scenarios.scenario_of(given.scenario, wanted, chosen, runs)
    if advising.recommend:
        processes, form = sweeps.processes, outputs.form
        advice.run_advice(comparison, policy, advising, processes=processes, form=form)
        return
    if sweeps.sweep is None:
        results = run_all(comparison, sweeps.processes)
        files.write_files(outputs, comparison, results)
        cases = [case_document(result) for result in results]
    else:
        cases = kept.run_sweep(comparison, sweeps.sweep, sweeps)
    document: dict[str, object] = {"runs": told_runs(cases)}
    if notices := notices_of(cases):
        document["notices"] = notices
    emit(
        document,
        outputs.form,
        draw=lambda out, wide: draw_cases(out, cases, wide=wide),
        names=[str(case["case"]) for case in cases],
    )


def comparison_of(
    wanted: sources.Wanted,
    chosen: options.CaseOptions,
    runs: options.RunOptions,
    given: Policy | None,
) -> Comparison:
    """Return what the options ask to be run, with the policy that was given if any was."""
    model = options.find_model(chosen.model)
    source = sources.source_of(wanted, model, given)
    names, named = options.parse_policies(runs.policies)
    per_node = runs.gpus_per_node or GPUS_PER_NODE[runs.driver]
    found = draws(chosen, are_own=wanted.are_own)
    chance = draw_by_seed(names, per_node)
    recipes = recipes_of(source, model, found, chosen.peak, has_chance=chance)
    comparison = Comparison(
        recipes=on_clusters(recipes, chosen.clusters if has_loop(names) else 1),
        policies=names,
        conditions=Conditions(
            policy=given or unthrottled(),
            driver=runs.driver,
            gpus_per_node=per_node,
            closes_by_profile=runs.close_by_profile,
            agent=new_agent,
            named=named,
        ),
    )
    options.require_runnable(comparison, runs)
    return comparison


def draws(chosen: options.CaseOptions, *, are_own: bool) -> list[Draw]:
    """Return the draws of all loads and seeds."""
    division = Division(
        options.parse_days("--past-days", chosen.past_days),
        options.parse_days("--days", chosen.days),
    )
    seeds = range(chosen.seed_base, chosen.seed_base + chosen.seeds)
    loads = options.loads_of(chosen, are_own=are_own)
    return draws_of(chosen.split, loads, seeds, division, gpus=chosen.gpus)


simulate = GroupedCommand(
    run_simulation,
    scenarios.ScenarioOptions,
    sources.Wanted,
    options.CaseOptions,
    options.RunOptions,
    kept.SweepOptions,
    advice.AdviceOptions,
    files.OutputOptions,
)
