"""``simulate``: what policies would do with the jobs of a trace."""

from autoscaler.adapters.policy_file import load_policy
from autoscaler.agent.wiring import new_agent
from autoscaler.cli import simulate_options as options
from autoscaler.cli import simulate_report as files
from autoscaler.cli import simulate_sources as sources
from autoscaler.cli.output import Form, emit
from autoscaler.cli.simulate_run import run_all
from autoscaler.cli.simulate_view import draw_results
from autoscaler.domain.policy.policy import Driver
from autoscaler.simulation.study.comparison import Comparison
from autoscaler.simulation.study.policies import Conditions
from autoscaler.simulation.study.recipe import draws_of, recipes_of
from autoscaler.simulation.study.splits import Division, Split
from autoscaler.simulation.study.unthrottled import unthrottled

# GPUs of a node where nothing else is said: the agent changes one GPU at a time anyway,
# MIG manager closes whole nodes, and those it finds have eight.
GPUS_PER_NODE = {Driver.AGENT: 1, Driver.MIG_MANAGER: 8}


def simulate(
    trace: sources.TraceOption = None,
    profile_column: sources.ColumnOption = "",
    from_jobs: sources.FromJobsOption = None,
    from_prometheus: sources.FromPrometheusOption = None,
    history: sources.HistoryOption = sources.USUAL_HISTORY,
    pool: sources.PoolOption = "",
    synthetic: sources.SyntheticOption = None,
    synthetic_days: sources.SyntheticDaysOption = sources.USUAL_DAYS,
    load: options.LoadOption = "0.5",
    split: options.SplitOption = Split.BASE,
    seed_base: options.SeedBaseOption = 1,
    seeds: options.SeedsOption = 1,
    gpus: options.GpusOption = None,
    past_days: options.PastDaysOption = "",
    days: options.DaysOption = "",
    peak: options.PeakOption = "",
    policies: options.PoliciesOption = options.USUAL,
    driver: options.DriverOption = Driver.AGENT,
    policy: options.PolicyOption = None,
    model: options.ModelOption = "a100-40gb",
    gpus_per_node: options.NodeOption = None,
    close_by_profile: options.ClosingOption = False,
    processes: options.ProcessesOption = 1,
    report: files.ReportOption = None,
    png: files.PngOption = None,
    form: options.OutputOption = Form.TABLE,
) -> None:
    """Run policies on the jobs of a trace, and compare how long jobs take."""
    files.require_folder(report)
    files.require_pictures(png)
    chosen = options.find_model(model)
    division = Division(options.parse_days(past_days), options.parse_days(days))
    seed_range = range(seed_base, seed_base + seeds)
    draws = draws_of(split, options.parse_loads(load), seed_range, division, gpus=gpus)
    given = load_policy(policy).policy if policy else None
    wanted = sources.Wanted(
        trace,
        profile_column,
        from_jobs,
        from_prometheus,
        history,
        pool,
        synthetic,
        synthetic_days,
    )
    source = sources.source_of(wanted, chosen, given)
    comparison = Comparison(
        recipes=recipes_of(source, chosen, draws, peak),
        policies=options.parse_names(policies),
        conditions=Conditions(
            policy=given or unthrottled(),
            driver=driver,
            gpus_per_node=gpus_per_node or GPUS_PER_NODE[driver],
            closes_by_profile=close_by_profile,
            agent=new_agent,
        ),
    )
    results = run_all(comparison, processes)
    if report is not None:
        files.write_report(report, comparison, results)
    if png is not None:
        files.write_pictures(png, results)
    document: dict[str, object] = {"runs": [run for r in results for run in r.figures]}
    emit(document, form, draw=lambda out, wide: draw_results(out, results, wide=wide))
