"""Text of files, in pieces, whatever the encoding that a shell wrote it in."""

import codecs
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from autoscaler.domain.errors import ConfigError

STDIN = "-"
CHUNK_BYTES = 1 << 20
# PowerShell writes UTF-16 when it redirects.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def source_of(path: str) -> str:
    """Return how messages name a file."""
    return "standard input" if path == STDIN else path


def text_of(path: str) -> str:
    """Return the text of a file; ConfigError when it is none or cannot be read."""
    return "".join(chunks_of(path))


def chunks_of(path: str) -> Iterator[str]:
    """Yield the text of a file, ``-`` for standard input, in pieces.

    Raises
    ------
    ConfigError
        When the file cannot be read, is empty, or is not text.
    """
    source = source_of(path)
    empty = True
    try:
        for text in _decoded(path):
            if "\0" in text:
                raise ConfigError(f"{source}: not a text file: it holds NUL bytes")
            empty = empty and not text.strip()
            yield text
    except OSError as error:
        raise ConfigError(f"{source}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{source}: not a text file: {error.reason}") from error
    if empty:
        raise ConfigError(f"{source}: the file is empty")


def _decoded(path: str) -> Iterator[str]:
    with ExitStack() as stack:
        own = path != STDIN
        stream = stack.enter_context(Path(path).open("rb")) if own else sys.stdin.buffer
        chunk = stream.read(CHUNK_BYTES)
        encoding = next((e for mark, e in BYTE_ORDER_MARKS if chunk.startswith(mark)), "utf-8")
        decoder = codecs.getincrementaldecoder(encoding)()
        while chunk:
            yield decoder.decode(chunk)
            chunk = stream.read(CHUNK_BYTES)
        yield decoder.decode(b"", final=True)
