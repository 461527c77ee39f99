"""What one GPU may be cut into."""

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.policy.policy import Driver
from autoscaler.planning.program.duration import expected_out_of_service_s
from autoscaler.planning.program.targets import Allowed, pinned_of, targets_of
from tests.builders import SEVEN_SMALL, gpu, model, placed
from tests.fleets import policy

PLAIN = Allowed(model().plain_names)


def targets(own, driver=Driver.MIG_MANAGER, allowed=PLAIN):
    """Return the profile counts of the targets of a GPU."""
    return [target.after for target in targets_of(own, model(), driver, allowed)]


def test_an_idle_gpu_may_become_any_largest_layout_but_its_own():
    """Twelve multisets of the standard profiles contain no other; one is there already."""
    found = targets(gpu(0, SEVEN_SMALL))
    assert len(found) == 11
    assert Counts(SEVEN_SMALL) not in found


def test_an_empty_gpu_may_become_all_of_them():
    """Nothing has to go."""
    assert len(targets(gpu(0, {}))) == 12


@pytest.mark.parametrize("own", [gpu(0, None), gpu(0, SEVEN_SMALL, {"1g.5gb": 1})])
def test_mig_manager_leaves_gpus_in_use_and_without_mig_alone(own):
    """It would destroy everything on the first, and has to change the mode of the other."""
    assert targets(own) == []


def test_the_agent_keeps_what_is_in_use():
    """Around a 3g at 4 that is in use only layouts that contain it are left."""
    geometry = Geometry((GpuInstance(0, 4, "4g.20gb"), GpuInstance(4, 4, "3g.20gb")))
    pinned = Geometry(geometry.instances[1:])
    own = gpu(0, geometry.counts, {"3g.20gb": 1}, geometry=geometry, pinned=pinned)
    found = targets_of(own, model(), Driver.AGENT, PLAIN)
    assert found
    assert all(pinned.instances[0] in target.geometry.instances for target in found)
    assert all(target.geometry.counts == target.after for target in found)
    assert Counts({"3g.20gb": 1, "1g.5gb": 4}) in [target.after for target in found]


def test_of_equal_counts_the_nearest_placement_is_taken():
    """Small instances that are wanted again stay where they are."""
    geometry = Geometry(
        (
            GpuInstance(0, 2, "2g.10gb"),
            GpuInstance(2, 1, "1g.5gb"),
            GpuInstance(3, 1, "1g.5gb"),
            GpuInstance(4, 4, "3g.20gb"),
        )
    )
    own = gpu(0, geometry.counts, {"3g.20gb": 1}, geometry=geometry, pinned=None)
    found = {t.after: t for t in targets_of(own, model(), Driver.AGENT, PLAIN)}
    kept = found[Counts({"3g.20gb": 1, "1g.5gb": 4})].geometry.instances
    assert {instance.start for instance in kept if instance.profile == "1g.5gb"} == {0, 1, 2, 3}


def test_which_instance_is_in_use_is_not_guessed():
    """Where only the number is known, all of that profile stay."""
    geometry = placed({"1g.5gb": 3, "3g.20gb": 1})
    own = gpu(0, geometry.counts, {"1g.5gb": 1}, geometry=geometry)
    assert pinned_of(own).counts == Counts({"1g.5gb": 3})


def test_instances_that_a_model_does_not_allow_have_no_targets():
    """What the inventory says may be wrong; nothing is built on it."""
    odd = Geometry((GpuInstance(1, 4, "3g.20gb"),))
    own = gpu(0, odd.counts, {"3g.20gb": 1}, geometry=odd, pinned=odd)
    assert targets(own, Driver.AGENT) == []


def test_only_allowed_profiles_are_created():
    """Others that exist may go."""
    found = targets(gpu(0, {"7g.40gb": 1}), allowed=Allowed(("1g.5gb", "3g.20gb")))
    assert Counts({"3g.20gb": 2}) in found
    assert all(set(counts) <= {"1g.5gb", "3g.20gb"} for counts in found)


def test_of_limited_profiles_fewer_may_be_made():
    """Every number of small instances up to seven is a target."""
    allowed = Allowed(("1g.5gb",), frozenset({"1g.5gb"}))
    found = targets(gpu(0, {"7g.40gb": 1}), allowed=allowed)
    assert sorted(counts["1g.5gb"] for counts in found) == list(range(8))


@pytest.mark.parametrize(
    ("driver", "seconds"), [(Driver.MIG_MANAGER, 120 + 120 + 30), (Driver.AGENT, 10 + 30 + 30)]
)
def test_the_expected_time_adds_up_the_waits(driver, seconds):
    """The wait for late bindings runs beside the wait for the configuration."""
    assert expected_out_of_service_s(driver, policy()) == seconds


def test_the_agent_takes_longer_for_more_instances():
    """One after the other; MIG manager's time is mostly that of its waits."""
    few, many = (
        expected_out_of_service_s(Driver.AGENT, policy(), number) for number in (3, 63)
    )
    assert many - few == pytest.approx(60 * 1.2)
    same = {expected_out_of_service_s(Driver.MIG_MANAGER, policy(), n) for n in (3, 63)}
    assert len(same) == 1
