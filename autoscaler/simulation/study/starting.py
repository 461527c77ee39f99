"""Who starts on which free instance: what schedulers do, in the light simulator."""

from autoscaler.planning.past.mix_replay import Order
from autoscaler.simulation.study.cells import Place
from autoscaler.simulation.study.light import Scene
from autoscaler.simulation.study.waiting import rank_of


def start_exact(scene: Scene) -> None:
    """Start jobs on instances of just their profile, as a resource name demands."""
    for profile in scene.waiting.profiles:
        for place in list(scene.cells.free(profile))[: scene.waiting.number(profile)]:
            scene.start(profile, place)


def start_larger(scene: Scene, sizes: tuple[str, ...], order: Order) -> None:
    """Start jobs on the smallest free instance that is large enough.

    Parameters
    ----------
    sizes
        Profiles from small to large; each can do the work of those before it.
    """
    if order is Order.OWNER_FIRST:
        start_exact(scene)
    while True:
        able = []
        for profile in scene.waiting.profiles:
            job, place = scene.waiting.first(profile), smallest_free(scene, sizes, profile)
            if job is not None and place is not None:
                able.append((rank_of(job), profile, place))
        if not able:
            return
        _, profile, place = min(able)
        scene.start(profile, place)


def smallest_free(scene: Scene, sizes: tuple[str, ...], profile: str) -> Place | None:
    """Return the smallest free instance that is at least as large as a profile."""
    for size in sizes[sizes.index(profile) :]:
        free = scene.cells.free(size)
        if free:
            return free[0]
    return None
