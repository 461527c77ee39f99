"""Metrics from files: field cases of DCGM and kube-state-metrics, and bad input."""

import json
from pathlib import Path
from typing import Any

import pytest

from autoscaler.adapters.prometheus.files import read_metrics
from autoscaler.domain.cluster.objects import InstanceSample, MetricsView, PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError

NOW_S = 1_893_456_600.0
ACTIVE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
USED = "DCGM_FI_DEV_FB_USED"


def view(folder: Path, *lines: str) -> MetricsView:
    """Return the view of a text file with these lines."""
    path = folder / "metrics.txt"
    path.write_text("\n".join(lines) + "\n")
    return read_metrics(str(path), NOW_S)


def by_id(found: MetricsView) -> dict[str, InstanceSample]:
    """Return the instances by their id."""
    return {sample.instance_id: sample for sample in found.instances}


def test_series_without_pod_labels_prove_nothing_and_names_are_in_any_case(
    tmp_path: Path,
) -> None:
    """Instance 12 may be held: its zero stands alone, so it is unknown, not idle."""
    found = view(
        tmp_path,
        'dcgm_fi_prof_gr_engine_active{gpu="0",uuid="GPU-1",gpu_i_profile="1g.10gb",'
        'gpu_i_id="12",hostname="gpu-a1"} 0',
        'dcgm_fi_prof_gr_engine_active{gpu="1",uuid="GPU-2",hostname="gpu-a1",'
        'namespace="team-x",pod="train-0",container="main"} 0.71',
    )
    assert found.instances == (
        InstanceSample("gpu-a1", "GPU-1", 0, "12", "1g.10gb", None, NOW_S, None),
    )


def test_the_exporter_is_not_the_workload(tmp_path: Path) -> None:
    """Where the scrape's labels win, the workload is under ``exported_pod``."""
    own = 'UUID="GPU-3",GPU_I_PROFILE="2g.20gb",namespace="gpu-operator",pod="exp-z9"'
    found = view(
        tmp_path,
        f'{ACTIVE}{{{own},GPU_I_ID="3",exported_namespace="x",exported_pod="infer-1"}} 0.5',
        f'{ACTIVE}{{{own},GPU_I_ID="5"}} 0',
    )
    assert [sample.pod for sample in found.instances] == [PodRef("x", "infer-1"), None]


def test_the_exporter_is_known_by_its_name_where_nothing_is_exported(tmp_path: Path) -> None:
    """On an idle node no series carries a workload at all."""
    labels = 'UUID="GPU-3",GPU_I_ID="5",namespace="gpu-operator",pod="nvidia-dcgm-exporter-z9"'
    assert view(tmp_path, f"{ACTIVE}{{{labels}}} 0").instances[0].pod is None


def test_honored_labels_name_the_workload(tmp_path: Path) -> None:
    """And older exporters write empty ones where there is no pod."""
    found = view(
        tmp_path,
        f'{ACTIVE}{{UUID="G",GPU_I_ID="1",namespace="team-x",pod="a",pod_uid="u"}} 0.5',
        f'{ACTIVE}{{UUID="G",GPU_I_ID="2",namespace="",pod=""}} 0.44',
    )
    assert by_id(found)["1"].pod == PodRef("team-x", "a")
    assert found.instances[0].pod is not None
    assert found.instances[0].pod.uid == "u"
    assert (by_id(found)["2"].pod, by_id(found)["2"].busy) == (None, True)


def test_a_profile_is_kept_as_the_exporter_names_it(tmp_path: Path) -> None:
    """The join is by board and instance, so the name may differ from the node's."""
    labels = 'UUID="GPU-4",GPU_I_PROFILE="1g.11gb",Hostname="gpu-a2"'
    found = view(
        tmp_path,
        f'{ACTIVE}{{{labels},GPU_I_ID="7"}} 0.9',
        f'{ACTIVE}{{{labels},GPU_I_ID="8"}} 0.0',
    )
    assert [(s.instance_id, s.profile, s.busy) for s in found.instances] == [
        ("7", "1g.11gb", True),
        ("8", "1g.11gb", None),
    ]


def test_gpu_utilization_says_nothing_about_instances(tmp_path: Path) -> None:
    """It prints 0 for "not measured"; an instance without activity is unknown."""
    labels = 'UUID="GPU-5",GPU_I_PROFILE="3g.20gb",Hostname="gpu-a3"'
    found = view(
        tmp_path,
        f'DCGM_FI_DEV_GPU_UTIL{{{labels},GPU_I_ID="1"}} 0',
        f'DCGM_FI_DEV_GPU_UTIL{{{labels},GPU_I_ID="2"}} 0',
        f'{ACTIVE}{{{labels},GPU_I_ID="1"}} 0.83',
    )
    assert [(s.instance_id, s.busy) for s in found.instances] == [("1", True)]


def test_a_third_on_a_board_of_mixed_sizes_is_busy(tmp_path: Path) -> None:
    """A saturated large instance shows no more; only close to zero can be idle."""
    labels = 'UUID="GPU-6",Hostname="gpu-a4"'
    found = view(
        tmp_path,
        f'{ACTIVE}{{{labels},GPU_I_PROFILE="3g.40gb",GPU_I_ID="1",exported_pod="train"}} 0.33',
        f'{ACTIVE}{{{labels},GPU_I_PROFILE="1g.10gb",GPU_I_ID="7",exported_pod="infer"}} 0.98',
    )
    assert [sample.busy for sample in found.instances] == [True, True]


@pytest.mark.parametrize(
    ("active", "used_mib", "busy"),
    [(0.0, 20, False), (0.009, 20, False), (0.02, 20, True), (0.0, 9000, None)],
)
def test_idle_needs_two_witnesses(
    tmp_path: Path, active: float, used_mib: int, busy: bool | None
) -> None:
    """No activity and empty memory; a zero beside full memory is a broken exporter."""
    labels = 'UUID="G",GPU_I_ID="1",Hostname="n"'
    found = view(tmp_path, f"{ACTIVE}{{{labels}}} {active}", f"{USED}{{{labels}}} {used_mib}")
    assert found.instances[0].busy is busy


def test_coverage_is_judged_for_each_instance(tmp_path: Path) -> None:
    """Twelve instances by their memory, activity of ten: two are unknown."""
    places = [(board, instance) for board in range(6) for instance in (1, 2)]
    dark = {(1, 2), (4, 2)}
    lines = []
    for board, instance in places:
        labels = f'{{gpu="{board}",UUID="GPU-{board}",GPU_I_ID="{instance}",Hostname="gpu-a5"}}'
        lines.append(f"{USED}{labels} 10")
        if (board, instance) not in dark:
            lines.append(f"{ACTIVE}{labels} 0")
    found = view(tmp_path, *lines)
    unknown = {(s.gpu_index, int(s.instance_id)) for s in found.instances if s.busy is None}
    assert len(found.instances) == 12
    assert unknown == dark
    assert "activity is known for 10 of 12 instances" in found.notices


def test_readings_of_boards_are_no_instances(tmp_path: Path) -> None:
    """Power is repeated on each instance and says nothing about one."""
    labels = 'UUID="G",GPU_I_PROFILE="1g.10gb",Hostname="n"'
    lines = [f'DCGM_FI_DEV_POWER_USAGE{{{labels},GPU_I_ID="{i}"}} 212' for i in (7, 8)]
    found = view(tmp_path, *lines)
    assert [sample.busy for sample in found.instances] == [None, None]
    assert "whole boards" in found.notices[0]
    assert "activity is known for 0 of 2 instances" in found.notices


def test_a_sample_of_another_time_is_unknown(tmp_path: Path) -> None:
    """Times in a file are milliseconds; five minutes are too old, or a wrong clock."""
    labels = 'UUID="G",Hostname="n"'
    lines = [
        f'{ACTIVE}{{{labels},GPU_I_ID="{number}"}} 0.8 {int((NOW_S + offset) * 1000)}'
        for number, offset in enumerate((-10, -300, 300))
    ]
    found = view(tmp_path, *lines)
    assert [sample.busy for sample in found.instances] == [True, None, None]
    assert [sample.sampled_at_s for sample in found.instances] == [
        NOW_S - 10,
        NOW_S - 300,
        NOW_S + 300,
    ]


def test_replicas_are_one_instance_and_the_busier_counts(tmp_path: Path) -> None:
    """Keyed by board and instance, whatever else differs."""
    labels = 'UUID="GPU-2",GPU_I_ID="1",Hostname="gpu-a1"'
    used = [f'{USED}{{{labels},prometheus_replica="{r}"}} 10' for r in "ab"]
    found = view(
        tmp_path,
        f'{ACTIVE}{{{labels},prometheus_replica="a"}} 0.00',
        f'{ACTIVE}{{{labels},prometheus_replica="b"}} 0.42',
        *used,
    )
    assert [(s.instance_id, s.busy) for s in found.instances] == [("1", True)]


def test_the_fresh_replica_is_preferred(tmp_path: Path) -> None:
    """A replica that is down repeats its last value for a while."""
    labels = 'UUID="G",GPU_I_ID="1",Hostname="n"'
    old, new = int((NOW_S - 310) * 1000), int((NOW_S - 10) * 1000)
    found = view(
        tmp_path,
        f'{ACTIVE}{{{labels},replica="a",pod="new",namespace="x"}} 0.0 {new}',
        f'{USED}{{{labels},replica="a",pod="new",namespace="x"}} 9 {new}',
        f'{ACTIVE}{{{labels},replica="b",pod="old",namespace="x"}} 0.8 {old}',
    )
    sample = found.instances[0]
    assert (sample.busy, sample.sampled_at_s) == (False, NOW_S - 10)
    assert sample.pod == PodRef("x", "new")


def test_old_memory_is_no_witness(tmp_path: Path) -> None:
    """It may have been filled since."""
    labels, old = 'UUID="G",GPU_I_ID="1",Hostname="n"', int((NOW_S - 310) * 1000)
    found = view(tmp_path, f"{ACTIVE}{{{labels}}} 0", f"{USED}{{{labels}}} 9 {old}")
    assert found.instances[0].busy is None


def test_two_pods_on_one_instance_prove_nothing(tmp_path: Path) -> None:
    """Time-slicing: it cannot be said which one would be disrupted."""
    labels = 'UUID="G",GPU_I_ID="1",Hostname="n",namespace="x"'
    found = view(
        tmp_path,
        f'{ACTIVE}{{{labels},pod="a"}} 0.5',
        f'{ACTIVE}{{{labels},pod="b"}} 0.5',
    )
    assert (found.instances[0].pod, found.instances[0].busy) == (None, True)


@pytest.mark.parametrize(
    ("labels", "node"),
    [
        ('node="a",Hostname="b",instance="c:9400"', "a"),
        ('Hostname="b",instance="c:9400"', "b"),
        ('hostname="b"', "b"),
        ('instance="c:9400"', "c"),
        ('instance="[fd00::1]:9400"', "[fd00::1]"),
        ("", ""),
    ],
)
def test_the_node_is_what_the_best_label_says(tmp_path: Path, labels: str, node: str) -> None:
    """Discovery before the exporter's own name before the address."""
    line = f'{ACTIVE}{{{labels + "," if labels else ""}UUID="G",GPU_I_ID="1"}} 1'
    assert view(tmp_path, line).instances[0].node == node


def ksm(resource: str, pod: str, value: int, node: str = "", container: str = "main") -> str:
    """Return a line of kube-state-metrics: what a container asks for."""
    labels = f'namespace="x",pod="{pod}",uid="u-{pod}",container="{container}",node="{node}"'
    return (
        f'kube_pod_container_resource_requests{{{labels},resource="{resource}",'
        f'unit="integer"}} {value}'
    )


def phase(pod: str, name: str) -> str:
    """Return a line of kube-state-metrics: the phase of a pod."""
    labels = f'namespace="x",pod="{pod}",uid="u-{pod}"'
    return f'kube_pod_status_phase{{{labels},phase="{name}"}} 1'


def test_pending_counts_unbound_pending_pods_by_known_names(tmp_path: Path) -> None:
    """Finished pods keep their requests until they are deleted; bound ones have a node.

    Placeholders of ours are nobody's demand.
    """
    small = "nvidia_com_mig_1g_5gb"
    found = view(
        tmp_path,
        ksm(small, "a", 1),
        phase("a", "Pending"),
        ksm(small, "b", 2),
        ksm(small, "b", 1, container="side"),
        phase("b", "Pending"),
        ksm(small, "bound", 1, node="n"),
        phase("bound", "Pending"),
        ksm(small, "failed", 1),
        phase("failed", "Failed"),
        ksm("nvidia_com_mig_1g_10gb_me", "c", 1),
        phase("c", "Pending"),
        ksm(small, "mig-placeholder-0123456789-0", 1),
        phase("mig-placeholder-0123456789-0", "Pending"),
        ksm("cpu", "a", 4),
    )
    assert found.pending == Counts({"nvidia.com/mig-1g.5gb": 4, "nvidia.com/mig-1g.10gb.me": 1})


def test_unknown_and_shared_names_are_no_demand(tmp_path: Path) -> None:
    """Unknown ones are noticed once; shares are not devices."""
    found = view(
        tmp_path,
        ksm("nvidia_com_gpu", "a", 1),
        phase("a", "Pending"),
        ksm("nvidia_com_gpu_shared", "b", 4),
        phase("b", "Pending"),
        ksm("nvidia_com_mig_9g_99gb", "c", 1),
        phase("c", "Pending"),
    )
    assert found.pending == Counts({"nvidia.com/gpu": 1})
    about = [notice for notice in found.notices if "no known resource" in notice]
    assert len(about) == 1
    assert "'nvidia_com_mig_9g_99gb'" in about[0]


def test_nothing_pending_is_zero_only_while_the_exporter_speaks(tmp_path: Path) -> None:
    """What nodes offer proves that it does."""
    offered = 'kube_node_status_allocatable{node="n",resource="nvidia_com_mig_1g_5gb"} 7'
    assert view(tmp_path, offered).pending == Counts()
    silent = view(tmp_path, phase("a", "Running"))
    assert silent.pending is None
    assert any("empty" in notice for notice in silent.notices)


def vector(*samples: tuple[dict[str, str], float], **more: Any) -> dict[str, Any]:
    """Return an answer of the query API."""
    result = [{"metric": labels, "value": [NOW_S, str(value)]} for labels, value in samples]
    return {"status": "success", "data": {"resultType": "vector", "result": result}, **more}


INSTANCE = {"UUID": "G", "GPU_I_ID": "1", "Hostname": "n"}


def saved(folder: Path, found: object) -> MetricsView:
    """Return the view of a JSON file."""
    path = folder / "answer.json"
    path.write_text(json.dumps(found))
    return read_metrics(str(path), NOW_S)


def test_answers_of_the_query_api_are_read(tmp_path: Path) -> None:
    """One, a list, or a map by query; what each answers is in it or said."""
    active = vector(({"__name__": ACTIVE, **INSTANCE}, 0.4))
    times = vector((INSTANCE, NOW_S - 5))
    demand = vector(({"resource": "nvidia_com_mig_1g_5gb"}, 3))
    assert saved(tmp_path, active).instances[0].busy is True
    assert saved(tmp_path, [active, times]).instances[0].sampled_at_s == NOW_S - 5
    mapped = saved(tmp_path, {"activity": active, "activity_time": times, "queued": demand})
    assert mapped.queued == Counts({"nvidia.com/mig-1g.5gb": 3})
    assert saved(tmp_path, demand).pending == Counts({"nvidia.com/mig-1g.5gb": 3})


def test_without_a_time_a_zero_is_unknown(tmp_path: Path) -> None:
    """The time of an answer is that of its evaluation."""
    idle = vector(({"__name__": ACTIVE, **INSTANCE}, 0.0))
    empty = vector(({"__name__": USED, **INSTANCE}, 5))
    assert saved(tmp_path, [idle, empty]).instances[0].busy is None


def test_warnings_make_a_view_partial(tmp_path: Path) -> None:
    """What is listed counts, what is not is unknown."""
    found = saved(tmp_path, vector(({"__name__": ACTIVE, **INSTANCE}, 0.4), warnings=["store"]))
    assert found.partial
    assert found.instances[0].busy is True
    assert any("store" in notice for notice in found.notices)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("hello world\n", "1: not a value of hello|no metric"),
        ("{", "1:"),
        ('{"a": 1}', "neither an answer"),
        ("[]", "no metric that is used"),
        ('[{"metric": {"UUID": "G"}, "value": [1, "0"]}]', "a list of bare results hides"),
        (f"{ACTIVE} x\n", "1: not a value"),
        (f"# HELP x\n{ACTIVE}{{a=b}} 1\n", "2: not a label"),
        (f'{ACTIVE}{{a="b" 1\n', "1: not a label"),
        (f'{ACTIVE}{{a="b"c="d"}} 1\n', "1: not a label"),
        (f"{ACTIVE} 1 2 3\n", "1: more than"),
        ("=1\n", "1: not a Prometheus sample"),
    ],
)
def test_bad_files_are_config_errors(tmp_path: Path, text: str, message: str) -> None:
    """With the file, and the line where there is one."""
    path = tmp_path / "m"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        read_metrics(str(path), NOW_S)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("text", "notice"),
    [
        ('{"status": "error", "errorType": "x", "error": "y"}', "failed: x: y"),
        ('{"status": "success"}', "no data"),
        ('{"status": "success", "data": {"resultType": "scalar", "result": []}}', "a scalar"),
        ('{"status": "success", "data": {"resultType": "matrix", "result": []}}', "a matrix"),
        ('{"status": "success", "data": {"resultType": "vector", "result": []}}', "is empty"),
    ],
)
def test_answers_that_say_nothing_are_missing_data(
    tmp_path: Path, text: str, notice: str
) -> None:
    """As they would be for the loop: never an idle fleet, and no reason to stop either."""
    path = tmp_path / "m"
    path.write_text(text)
    found = read_metrics(str(path), NOW_S)
    assert found.instances == ()
    assert found.pending is None
    assert notice in found.notices[0]
    assert str(path) in found.notices[0]


def test_a_failed_answer_makes_the_others_partial(tmp_path: Path) -> None:
    """What is not listed in them is unknown."""
    active = vector(({"__name__": ACTIVE, **INSTANCE}, 0.4))
    assert not saved(tmp_path, [active]).partial
    assert saved(tmp_path, [active, {"status": "error"}]).partial


def test_values_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    """NaN is neither busy nor idle."""
    labels = 'UUID="G",Hostname="n"'
    found = view(
        tmp_path,
        f'{ACTIVE}{{{labels},GPU_I_ID="1"}} NaN',
        f'{USED}{{{labels},GPU_I_ID="1"}} 9',
        f'{ACTIVE}{{{labels},GPU_I_ID="2"}} +Inf',
    )
    assert [(s.instance_id, s.busy) for s in found.instances] == [("1", None)]


def test_labels_may_hold_any_text(tmp_path: Path) -> None:
    """Quotes, backslashes, line ends, braces and commas."""
    line = f'{ACTIVE}{{UUID="G",GPU_I_ID="1",x="a\\"b\\\\c\\n}},{{",Hostname="n",}} 1'
    assert view(tmp_path, line).instances[0].node == "n"
