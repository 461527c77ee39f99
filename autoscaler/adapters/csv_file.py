"""CSV files, packed or not: rows with the lines they stand on, and what is wrong with them."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path

from autoscaler.domain.errors import ConfigError

GZIP = b"\x1f\x8b"
OTHER_SEPARATORS = ("\t", ";", "|")
Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file with a header row; errors name it and the line."""

    path: str
    columns: tuple[str, ...]
    text: str

    def rows(self) -> Iterator[tuple[int, Row]]:
        """Yield the rows with the line each ends on."""
        records = csv.reader(io.StringIO(self.text, newline=""), strict=True)
        next(records, None)
        while True:
            # Where a quote that nobody closes was opened, not where the file ends.
            first = records.line_num + 1
            try:
                fields = next(records)
            except StopIteration:
                return
            except csv.Error as error:
                raise ConfigError(f"{self.path}:{first}: is not CSV: {error}") from error
            if not fields:
                continue
            line = records.line_num
            if len(fields) != len(self.columns):
                raise ConfigError(
                    f"{self.path}:{line}: has another number of fields than line 1"
                )
            yield line, dict(zip(self.columns, fields, strict=True))

    def lacks(self, name: str) -> ConfigError:
        """Return the error for a column that is not there."""
        there = ", ".join(sorted(self.columns)) or "none"
        hint = "" if len(self.columns) != 1 else self._hint()
        return ConfigError(f"{self.path}:1: there is no column {name}; columns: {there}{hint}")

    def require_spelling(self, *names: str) -> None:
        """Refuse a column that is spelled almost as an optional one.

        What it says would be left out without a word.
        """
        for own in self.columns:
            name = own.strip().lower()
            if name in names and name not in self.columns:
                raise ConfigError(f"{self.path}:1: column {own!r}: write {name!r}")

    def _hint(self) -> str:
        """Say what a header of one column probably is: a table set apart by something else."""
        found = next((own for own in OTHER_SEPARATORS if own in self.columns[0]), None)
        return "" if found is None else f"; fields are set apart by commas, not {found!r}"

    def wrong(self, line: int, column: str, text: str, problem: str) -> ConfigError:
        """Return the error for a field."""
        return ConfigError(f"{self.path}:{line}: {column} = {text!r}: {problem}")

    def number(self, line: int, row: Row, column: str) -> float | None:
        """Return a field as a finite number, ``None`` when it is empty."""
        text = (row.get(column) or "").strip()
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = nan
        if not isfinite(value):
            raise self.wrong(line, column, text, "not a number")
        return value

    def whole(self, line: int, row: Row, column: str) -> int | None:
        """Return a field as a whole number, ``None`` when it is empty."""
        value = self.number(line, row, column)
        if value is not None and value != int(value):
            raise self.wrong(line, column, row[column], "not a whole number")
        return None if value is None else int(value)


def read_csv(path: str | Path) -> CsvFile:
    """Return a CSV file; ConfigError when it cannot be read or its header is no header."""
    name = str(path)
    text = _text(name)
    try:
        columns = tuple(next(csv.reader(io.StringIO(text, newline=""), strict=True), ()))
    except csv.Error as error:
        raise ConfigError(f"{name}:1: is not CSV: {error}") from error
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        raise ConfigError(f"{name}:1: column {twice[0]} is there twice")
    return CsvFile(name, columns, text)


def _text(path: str) -> str:
    try:
        content = Path(path).read_bytes()
        if content.startswith(GZIP):
            content = gzip.decompress(content)
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path}: cannot be read: {reason}") from error
