"""The size norms of CONTRIBUTING.md, held by counting."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = sorted((ROOT / "autoscaler").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
MODULE_LINES, CLASS_LINES, FUNCTION_LINES, TEST_LINES, ARGUMENTS = 400, 250, 50, 50, 5
BANNED = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    """Yield every function and method of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            yield node


def code_lines(node: ast.FunctionDef | ast.ClassDef) -> int:
    """Count the lines of a definition, its docstring apart."""
    first = node.body[0]
    doc = first if ast.get_docstring(node) is not None else None
    documented = (doc.end_lineno or 0) - doc.lineno + 1 if doc else 0
    return (node.end_lineno or 0) - node.lineno + 1 - documented


def where(path: Path, line: int = 0) -> str:
    """Name a place."""
    return f"{path.relative_to(ROOT)}:{line}" if line else str(path.relative_to(ROOT))


def test_modules_stay_readable():
    """No module of the product is longer than the norm."""
    assert [where(p) for p in CODE if len(p.read_text().splitlines()) > MODULE_LINES] == []


def test_functions_stay_short():
    """No function of the product is longer than the norm, its docstring apart."""
    long = [
        where(p, f.lineno) for p in CODE for f in functions(p) if code_lines(f) > FUNCTION_LINES
    ]
    assert long == []


def test_classes_stay_small():
    """No class of the product is longer than the norm."""
    classes = [
        where(p, node.lineno)
        for p in CODE
        for node in ast.walk(ast.parse(p.read_text()))
        if isinstance(node, ast.ClassDef) and code_lines(node) > CLASS_LINES
    ]
    assert classes == []


def test_functions_take_few_arguments():
    """Nothing takes more arguments than the norm; commands declare one option an argument."""
    many = [
        where(p, f.lineno)
        for p in CODE
        for f in functions(p)
        if "cli" not in p.parts
        and len(
            [
                a
                for a in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs)
                if a.arg != "self"
            ]
        )
        > ARGUMENTS
    ]
    assert many == []


def test_tests_stay_short():
    """No test is longer than the norm."""
    long = [
        where(p, f.lineno)
        for p in TESTS
        for f in functions(p)
        if f.name.startswith("test_") and code_lines(f) > TEST_LINES
    ]
    assert long == []


def test_modules_are_nouns():
    """No module has a name that says nothing."""
    assert [where(p) for p in CODE if p.stem in BANNED] == []
