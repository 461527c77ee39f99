"""Writes a mix problem as rows and columns.

Columns: how many GPUs of a kind take an option, how many nodes of a kind are closed for
it, how many requests of a class each zone or host serves, what earns a bonus, what falls
short of a rule. Staying has no column: it is what the others leave.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from autoscaler.planning.program.classes import WantClass
from autoscaler.planning.program.mix import ALL_GPUS, Mix, NodeKind, Option, Rule
from autoscaler.planning.solving.linear import ProgramBuilder

INFINITY = float("inf")


@dataclass(slots=True)
class MixWriter:
    """The program while it is being written.

    ``supply`` holds the columns that change how many free instances of a name a zone has,
    ``total`` how many with held ones, ``host_supply`` the first for a host. ``returns``
    holds those that make requests wait again, by want, ``uses`` those that take of a limit.
    ``gangs`` holds the column of the gangs that start and the row of their members, by the
    first gang of a class.
    """

    mix: Mix
    program: ProgramBuilder
    classes: Sequence[WantClass]
    taken: list[tuple[int, int, int]] = field(default_factory=list)
    closed: dict[int, int] = field(default_factory=dict)
    gangs: dict[str, tuple[int, int]] = field(default_factory=dict)
    flows: dict[int, tuple[int, int]] = field(default_factory=dict)
    hosted: dict[int, tuple[int, int]] = field(default_factory=dict)
    takers: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    supply: dict[tuple[int, str], list[tuple[int, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    total: dict[tuple[int, str], list[tuple[int, int, bool]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    host_supply: dict[tuple[int, str], list[tuple[int, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    returns: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    uses: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    zone_rows: dict[tuple[int, str], int] = field(default_factory=dict)

    def add_changes(self, index: int, kind: NodeKind) -> None:
        """Add the columns of what GPUs of a node kind may become."""
        for gpu_index, gpu in enumerate(kind.gpus):
            most = kind.number * gpu.number
            for option_index, option in enumerate(gpu.options):
                self._add_taken(kind, (index, gpu_index, option_index), option, most)
        for option_index, option in enumerate(kind.node_options):
            self._add_taken(kind, (index, ALL_GPUS, option_index), option, kind.number)

    def _add_taken(
        self, kind: NodeKind, key: tuple[int, int, int], option: Option, most: int
    ) -> None:
        index, gpu_index, _ = key
        column = self.program.column(-option.cost, most, is_integer=True)
        self.taken.append(key)
        self.takers[index, gpu_index].append(column)
        for name, gain in option.gains:
            self.supply[kind.zone, name].append((column, gain))
            if kind.is_host:
                self.host_supply[index, name].append((column, gain))
        # Rules are few, and most fleets have none.
        if self.mix.rules:
            for name, gain in (*option.gains, *((n, -held) for n, held in option.freed)):
                self.total[kind.zone, name].append((column, gain, option.makes_whole))
        for want, number in option.returns:
            self.returns[want].append((column, number))
        for limit, number in option.uses:
            self.uses[limit].append((column, number))

    def add_closing(self, index: int, kind: NodeKind) -> None:
        """Add a node kind's closings, and the limit on how many of its GPUs change."""
        whole = self.takers.get((index, ALL_GPUS), [])
        closing = None
        if kind.closing_cost > 0 and (whole or any(gpu.options for gpu in kind.gpus)):
            closing = self.program.column(-kind.closing_cost, kind.number, is_integer=True)
            self.closed[index] = closing
        if not kind.gpus and whole and (closing is not None or len(whole) > 1):
            row = self.program.row(-INFINITY, 0.0 if closing is not None else kind.number)
            for column in whole:
                self.program.enter(row, column, 1.0)
            if closing is not None:
                self.program.enter(row, closing, -1.0)
        for gpu_index, gpu in enumerate(kind.gpus):
            columns = self.takers.get((index, gpu_index), [])
            # A single column is limited by its bound, unless closings limit it.
            if closing is None and len(columns) + len(whole) < 2:
                continue
            all_gpus = 0.0 if closing is not None else float(gpu.number * kind.number)
            row = self.program.row(-INFINITY, all_gpus)
            for column in columns:
                self.program.enter(row, column, 1.0)
            for column in whole:
                self.program.enter(row, column, gpu.number)
            if closing is not None:
                self.program.enter(row, closing, -gpu.number)

    def add_wants(self) -> None:
        """Add the requests that each zone and host serves, and what they may take."""
        self._add_gangs()
        hosts: dict[int, list[int]] = {}
        for index, kind in enumerate(self.mix.kinds):
            if kind.is_host:
                hosts.setdefault(kind.zone, []).append(index)
        users: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
        host_users: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
        for index, own in enumerate(self.classes):
            want = own.want
            columns, is_divisible = [], want.is_divisible
            bundle = tuple(want.bundle.items())
            for zone in sorted(want.zones):
                for host in [None] if is_divisible else hosts.get(zone, []):
                    column = self._add_flow(index, zone, host)
                    columns.append(column)
                    for name, amount in bundle:
                        users[zone, name].append((column, amount))
                        if host is not None:
                            host_users[host, name].append((column, amount))
            self._limit_class(own, columns)
        self._limit_zones(users)
        self._limit_hosts(host_users)

    def _add_gangs(self) -> None:
        """Add how many gangs of each class start, and a row that demands their members."""
        least: dict[str, int] = {}
        for own in self.classes:
            gang, number = own.want.gang, own.want.gang_min
            least[gang] = max(number, least.get(gang, 0))
        for own in self.classes:
            gang = own.want.gang
            if gang and gang not in self.gangs:
                starts = self.program.column(0.0, own.copies, is_integer=True)
                row = self.program.row(0.0, INFINITY)
                self.program.enter(row, starts, -least[gang])
                self.gangs[gang] = (starts, row)

    def _add_flow(self, index: int, zone: int, host: int | None) -> int:
        own = self.classes[index]
        if host is None:
            column = self.program.column(own.want.value, own.number)
            self.flows[column] = (index, zone)
            return column
        column = self.program.column(own.want.value, own.most_on_a_node, is_integer=True)
        self.hosted[column] = (index, host)
        return column

    def _limit_class(self, own: WantClass, columns: list[int]) -> None:
        want, gang = own.want, self.gangs.get(own.want.gang)
        if gang is None and len(columns) < 2 and not want.is_returning:
            return
        row = self.program.row(-INFINITY, 0.0 if gang or want.is_returning else own.number)
        for column, number in self.returns.get(own.members[0], []):
            self.program.enter(row, column, -number)
        for column in columns:
            self.program.enter(row, column, 1.0)
            if gang:
                self.program.enter(gang[1], column, 1.0)
        if gang:
            self.program.enter(row, gang[0], -own.want.number)

    def _limit_zones(self, users: dict[tuple[int, str], list[tuple[int, int]]]) -> None:
        """Let no zone serve more than its nodes offer."""
        free: dict[tuple[int, str], int] = dict.fromkeys(users, 0)
        for kind in self.mix.kinds:
            for name, number in kind.free.items():
                if (kind.zone, name) in free:
                    free[kind.zone, name] += number * kind.number
        for key in sorted(users):
            row = self.program.row(-INFINITY, free[key])
            self.zone_rows[key] = row
            self.program.enter_all(row, users[key], 1.0)
            self.program.enter_all(row, self.supply.get(key, []), -1.0)

    def _limit_hosts(self, users: dict[tuple[int, str], list[tuple[int, int]]]) -> None:
        """Let no host serve more than it offers itself."""
        for index, name in sorted(users):
            row = self.program.row(-INFINITY, self.mix.kinds[index].free[name])
            self.program.enter_all(row, users[index, name], 1.0)
            self.program.enter_all(row, self.host_supply.get((index, name), []), -1.0)

    def limit_uses(self) -> None:
        """Let options use no more of a limit than there is."""
        for limit, users in sorted(self.uses.items()):
            row = self.program.row(-INFINITY, self.mix.limits[limit])
            for column, number in users:
                self.program.enter(row, column, number)

    def add_bonuses(self) -> tuple[int, ...]:
        """Add what the first instances served in some zones earn, and return its columns."""
        kinds = self.mix.kinds
        wants = [own.want for own in self.classes]
        earning = [(c, own, zone) for c, (own, zone) in self.flows.items()]
        earning += [(c, own, kinds[host].zone) for c, (own, host) in self.hosted.items()]
        columns = []
        for bonus in self.mix.bonuses:
            earned = self.program.column(bonus.value, bonus.number)
            row = self.program.row(-INFINITY, 0.0)
            self.program.enter(row, earned, 1.0)
            for column, own, zone in earning:
                amount = wants[own].bundle[bonus.name]
                if amount and zone in bonus.zones and not wants[own].is_returning:
                    self.program.enter(row, column, -amount)
            columns.append(earned)
        return tuple(columns)

    def add_rule(self, rule: Rule) -> tuple[int, ...]:
        """Add what falls short of a rule, and return its columns."""
        changes = [
            entry
            for zone in sorted(rule.zones)
            for entry in self.total.get((zone, rule.name), [])
        ]
        columns = []
        if rule.least is not None:
            short = self.program.column(-rule.price, max(0, rule.least))
            row = self.program.row(rule.least - rule.present, INFINITY)
            self.program.enter(row, short, 1.0)
            for column, gain, _ in changes:
                self.program.enter(row, column, gain)
            columns.append(short)
        if rule.most is not None:
            excess = self.program.column(-rule.price, INFINITY)
            row = self.program.row(-INFINITY, rule.most - rule.present)
            self.program.enter(row, excess, -1.0)
            for column, gain, makes_whole in changes:
                # Nodes that offer whole GPUs only are wished for by a rule of their own.
                if not makes_whole:
                    self.program.enter(row, column, gain)
            columns.append(excess)
        return tuple(columns)
