"""Write recorded output into the README, between its marks.

``python tools/readme.py plan < output`` puts what it reads behind ``<!-- plan -->``.
"""

import re
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
BLOCK = "<!-- {name} -->\n\n```text\n{text}\n```\n"


def put(readme: str, name: str, text: str) -> str:
    """Return the README with a recorded text behind a mark."""
    lines = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
    block = BLOCK.format(name=name, text=lines)
    pattern = rf"<!-- {re.escape(name)} -->\n(\n```text\n.*?\n```\n)?"
    changed, number = re.subn(pattern, lambda _: block, readme, count=1, flags=re.DOTALL)
    if not number:
        sys.exit(f"README.md has no mark <!-- {name} -->")
    return changed


def recorded(readme: str, name: str) -> str:
    """Return the text recorded behind a mark."""
    found = re.search(rf"<!-- {re.escape(name)} -->\n\n```text\n(.*?)\n```", readme, re.DOTALL)
    if found is None:
        sys.exit(f"README.md has no record behind <!-- {name} -->")
    return found[1]


if __name__ == "__main__":
    README.write_text(put(README.read_text(), sys.argv[1], sys.stdin.read()))
