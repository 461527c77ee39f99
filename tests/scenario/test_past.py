"""The loop looks back once a day, keeps what it found, and plans with it."""

import json
from dataclasses import dataclass, field

from autoscaler.adapters.kubernetes.cluster import KubernetesCluster
from autoscaler.control.loop import Loop
from autoscaler.control.outcome import Decision
from autoscaler.control.outside import Outside
from autoscaler.domain.errors import NotFound
from autoscaler.domain.policy.policy import Mode
from autoscaler.planning.past.demand_history import DemandHistory, Source
from autoscaler.ports import CONFIG_MAPS
from autoscaler.simulation.store import StoreClient
from tests.loops import NAMESPACE, STATUS, auto_policy, mutations, world_with_namespace
from tests.pasts import samples
from tests.worlds import HALVES, ONE, SEVENS, THREE, WHOLE, task

NODES = ("n1", "n2", "n3", "n4")


@dataclass
class Remembered:
    """A source that knows of two halves at once, for as long as anyone asks."""

    asked: list = field(default_factory=list)

    def demand(self, pool, grid, alone):
        self.asked.append(pool)
        numbers = {THREE: 2.0, ONE: 0.0, WHOLE: 0.0}
        wanted = {(pool, name): samples([n] * grid.number) for name, n in numbers.items()}
        return DemandHistory(grid, wanted, dict(wanted), sources=(Source.OWN_METRICS,))


def make_world(gpu=SEVENS):
    """Return four idle nodes of one GPU, cut into the smallest instances if not told."""
    return world_with_namespace(gpu, nodes=NODES)


def make_loop(world, source, mode=Mode.AUTO, name="replica-1"):
    """Return a loop that remembers."""
    client = StoreClient(world.store, name)
    cluster = KubernetesCluster(client, world.clock)
    outside = Outside(cluster, world.clock, identity=name, history=source)
    own = auto_policy(mode)
    return Loop(outside, lambda: own)


def cycles(world, loop, number):
    """Run cycles half a minute apart; return their outcomes."""
    outcomes = []
    for _ in range(number):
        outcomes.append(loop.step())
        world.run_for(30)
    return outcomes


def kept(world):
    """Return the past in the status ConfigMap."""
    found = world.platform.client.get(CONFIG_MAPS, NAMESPACE, STATUS)
    return json.loads(found["data"]["past.json"])


def test_what_was_found_is_kept_with_its_date_and_inputs():
    """For the next leader, and for people."""
    world, source = make_world(), Remembered()
    cycles(world, make_loop(world, source), 3)
    (own,) = kept(world)
    assert own["home"] == {THREE: 2, WHOLE: 0}
    assert (own["gpus"], own["sources"]) == ("4 x a100-40gb", ["mig-autoscaler"])
    assert own["madeAt"].startswith("2023-11-14T22:13")
    assert len(own["inputs"]) == 12
    assert source.asked == ["pool"]


def test_the_next_leader_does_not_look_again():
    """It takes what the last one kept, and plans with it at once."""
    world = make_world()
    first = make_loop(world, Remembered())
    cycles(world, first, 2)
    first.close()
    source = Remembered()
    second = make_loop(world, source, name="replica-2")
    (outcome, *_) = cycles(world, second, 3)
    assert source.asked == []
    assert outcome.memory.past.pools["pool"].home[THREE] == 2


def test_free_space_is_cut_for_what_the_past_makes_likely():
    """Two halves are wanted at all times, so one GPU is cut for them before anyone asks."""
    world = make_world()
    outcomes = cycles(world, make_loop(world, Remembered()), 4)
    assert outcomes[0].plan.changes == ()
    (change,) = outcomes[1].plan.changes
    assert change.resources[THREE] == 2
    assert change.price.hedge > 0
    assert change.serves == ()


def test_a_flood_of_whole_gpus_leaves_the_home_share_alone():
    """Two more than the home mix's none would be too many: one is made."""
    world = make_world()
    world.submit([task(f"flood-{i}", {WHOLE: 1}, run_s=None) for i in range(4)])
    loop = make_loop(world, Remembered(), Mode.RECOMMEND)
    world.run_for(1)
    outcomes = cycles(world, loop, 3)
    made = [
        sum(gpu.after["7g.40gb"] for change in outcome.plan.changes for gpu in change.gpus)
        for outcome in outcomes
    ]
    assert (made[0], made[-1]) == (4, 1)


def test_an_idle_loop_stays_idle_with_a_past():
    """Nothing new, nothing done: halves are there, and the same past is no news."""
    world = make_world(HALVES)
    outcomes = cycles(world, make_loop(world, Remembered(), Mode.RECOMMEND), 6)
    assert [o.decision for o in outcomes[-3:]] == [Decision.UNCHANGED] * 3


def test_a_dry_run_keeps_the_past_to_itself():
    """Not one write, and still it plans with it."""
    world = make_world()
    outcomes = cycles(world, make_loop(world, Remembered(), Mode.DRY_RUN), 3)
    assert outcomes[-1].memory.past.pools["pool"].home[THREE] == 2
    assert mutations(world) == []
    try:
        world.platform.client.get(CONFIG_MAPS, NAMESPACE, STATUS)
    except NotFound:
        return
    raise AssertionError("there is a status")


def test_mode_off_does_not_look_back():
    """It plans nothing."""
    world, source = make_world(), Remembered()
    cycles(world, make_loop(world, source, Mode.OFF), 2)
    assert source.asked == []
