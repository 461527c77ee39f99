"""Write recorded output into the README or a page of the manual, behind its marks.

``python tools/output.py README.md plan < output`` puts what it reads behind
``<!-- plan -->``.
"""

import re
import sys
from pathlib import Path

BLOCK = "<!-- {name} -->\n\n```text\n{text}\n```\n"


def put(page: str, name: str, text: str) -> str:
    """Return a page with a recorded text behind a mark."""
    lines = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
    block = BLOCK.format(name=name, text=lines)
    pattern = rf"<!-- {re.escape(name)} -->\n(\n```text\n.*?\n```\n)?"
    changed, number = re.subn(pattern, lambda _: block, page, count=1, flags=re.DOTALL)
    if not number:
        sys.exit(f"the page has no mark <!-- {name} -->")
    return changed


def recorded(page: str, name: str) -> str:
    """Return the text recorded behind a mark."""
    found = re.search(rf"<!-- {re.escape(name)} -->\n\n```text\n(.*?)\n```", page, re.DOTALL)
    if found is None:
        sys.exit(f"the page has no record behind <!-- {name} -->")
    return found[1]


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(put(path.read_text(), sys.argv[2], sys.stdin.read()))
