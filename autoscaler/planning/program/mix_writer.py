"""Writes a mix problem as rows and columns.

Columns: how many GPUs of a kind take an option, how many nodes of a kind are closed for
it, how many requests each zone or host serves, what earns a bonus, what falls short of
a rule. Staying has no column: it is what the others leave.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from autoscaler.planning.program.mix import ALL_GPUS, Mix, NodeKind, Option, Rule
from autoscaler.planning.solving.linear import ProgramBuilder

INFINITY = float("inf")


@dataclass(slots=True)
class MixWriter:
    """The program while it is being written.

    ``supply`` holds the columns that change how many free instances of a name a zone has,
    ``total`` how many with held ones, ``host_supply`` the first for a host. ``returns``
    holds those that make requests wait again, by want, ``uses`` those that take of a limit.
    """

    mix: Mix
    program: ProgramBuilder
    taken: list[tuple[int, int, int]] = field(default_factory=list)
    closed: dict[int, int] = field(default_factory=dict)
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
        gangs = self._add_gangs()
        hosts: dict[int, list[int]] = {}
        for index, kind in enumerate(self.mix.kinds):
            if kind.is_host:
                hosts.setdefault(kind.zone, []).append(index)
        users: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
        host_users: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
        for index, want in enumerate(self.mix.wants):
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
            self._limit_want(index, columns, gangs)
        self._limit_zones(users)
        self._limit_hosts(host_users)

    def _add_gangs(self) -> dict[str, tuple[int, int]]:
        """Add a yes-or-no column for each gang, and a row that demands its members."""
        gangs: dict[str, tuple[int, int]] = {}
        for want in self.mix.wants:
            if want.gang and want.gang not in gangs:
                starts = self.program.column(0.0, 1.0, is_integer=True)
                row = self.program.row(0.0, INFINITY)
                members = [w for w in self.mix.wants if w.gang == want.gang]
                least = max(member.gang_min for member in members)
                self.program.enter(row, starts, -least)
                gangs[want.gang] = (starts, row)
        return gangs

    def _add_flow(self, index: int, zone: int, host: int | None) -> int:
        want = self.mix.wants[index]
        if host is None:
            column = self.program.column(want.value, want.number)
            self.flows[column] = (index, zone)
            return column
        most = want.number if want.per_node is None else min(want.number, want.per_node)
        column = self.program.column(want.value, most, is_integer=True)
        self.hosted[column] = (index, host)
        return column

    def _limit_want(
        self, index: int, columns: list[int], gangs: dict[str, tuple[int, int]]
    ) -> None:
        want = self.mix.wants[index]
        gang = gangs.get(want.gang)
        if gang is None and len(columns) < 2 and not want.is_returning:
            return
        row = self.program.row(-INFINITY, 0.0 if gang or want.is_returning else want.number)
        for column, number in self.returns.get(index, []):
            self.program.enter(row, column, -number)
        for column in columns:
            self.program.enter(row, column, 1.0)
            if gang:
                self.program.enter(gang[1], column, 1.0)
        if gang:
            self.program.enter(row, gang[0], -want.number)

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
        kinds, wants = self.mix.kinds, self.mix.wants
        earning = [(c, want, zone) for c, (want, zone) in self.flows.items()]
        earning += [(c, want, kinds[host].zone) for c, (want, host) in self.hosted.items()]
        columns = []
        for bonus in self.mix.bonuses:
            earned = self.program.column(bonus.value, bonus.number)
            row = self.program.row(-INFINITY, 0.0)
            self.program.enter(row, earned, 1.0)
            for column, want, zone in earning:
                amount = wants[want].bundle[bonus.name]
                if amount and zone in bonus.zones and not wants[want].is_returning:
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
