"""The pictures of the report: what is drawn where."""

import re

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.simulation.demo.report import Report, render_report
from autoscaler.simulation.demo.report_figures import (
    WHOLE,
    blocks_of,
    changed_boxes,
    draw_layouts,
    local,
    steps_of,
)
from autoscaler.simulation.demo.run_record import BoardRecord, RunRecord
from autoscaler.simulation.figures import Sample

START_S, END_S = 1_772_456_400.0, 1_772_460_000.0
ZONE = "Asia/Shanghai"
HALVES = Geometry((GpuInstance(0, 4, "3g.20gb"), GpuInstance(4, 4, "3g.20gb")))
FULL = Geometry((GpuInstance(0, 8, "7g.40gb"),))
BEFORE = (BoardRecord("gpu-01", 0, None), BoardRecord("gpu-02", 0, HALVES))
AFTER = (BoardRecord("gpu-01", 0, None), BoardRecord("gpu-02", 0, FULL))
QUEUE = (
    Sample(START_S - 60, Counts({"nvidia.com/mig-3g.20gb": 9})),
    Sample(START_S + 10, Counts({"nvidia.com/mig-3g.20gb": 2})),
    Sample(START_S + 20, Counts({"nvidia.com/mig-3g.20gb": 2, "nvidia.com/mig-1g.5gb": 1})),
    Sample(START_S + 30, Counts({"nvidia.com/mig-1g.5gb": 1})),
    Sample(END_S + 5, Counts({"nvidia.com/mig-3g.20gb": 7})),
)
RUN = RunRecord(START_S, END_S, (), QUEUE, (), 0.0, BEFORE, AFTER)


def test_an_instance_is_drawn_at_its_memory_slices():
    """Nodes stand side by side, a gap apart."""
    blocks = blocks_of(BEFORE[1], ["gpu-01", "gpu-02"], 8)
    assert [(b.kind, b.x, b.size) for b in blocks] == [
        ("3g.20gb", 9.5, 4),
        ("3g.20gb", 13.5, 4),
    ]
    assert blocks[1].text == "gpu-02 GPU 0: 3g.20gb, memory slices 4 to 7"


def test_a_gpu_without_mig_is_drawn_whole():
    """It has no instances, and is not empty either."""
    (block,) = blocks_of(BEFORE[0], ["gpu-01", "gpu-02"], 8)
    assert (block.kind, block.x, block.size) == (WHOLE, 0.0, 8)


def test_only_gpus_that_are_cut_otherwise_are_framed():
    """The reserved one is not, the changed one is."""
    boxes = changed_boxes(RUN, ["gpu-01", "gpu-02"], 8)
    assert [box["x0"] for box in boxes] == [9.5 - 0.15]


def test_both_layouts_are_drawn():
    """The room of every GPU, and a trace for each profile that occurs."""
    names = [trace.name for trace in draw_layouts(RUN, 8).data if trace.name]
    assert names == ["3g.20gb", WHOLE, "7g.40gb", WHOLE]


def test_a_queue_is_drawn_where_it_changes_within_the_hours():
    """Neither what was before the start, nor what came after the end."""
    times, amounts = steps_of(RUN, QUEUE, "3g.20gb", ZONE)
    seconds = [(t - local(START_S, ZONE)).total_seconds() for t in times]
    assert list(zip(seconds, amounts, strict=True)) == [(0, 0), (10, 2), (30, 0), (3600, 0)]


def test_a_page_is_escaped_and_the_same_each_time():
    """Text of people stays text, and nothing of the moment gets in."""
    report = Report(
        figures=[("waiting time", "2", "1", "-1")],
        factors=[("note", "<b>&")],
        policy="a: <b>",
        plan="none",
        alone=RUN,
        autoscaled=RUN,
        changes=(),
        slices=8,
        opened_s=START_S,
        zone=ZONE,
    )
    page = render_report(report)
    assert page == render_report(report)
    assert "<td>&lt;b&gt;&amp;</td>" in page
    assert re.search(r"<pre>a: &lt;b&gt;</pre>", page)
