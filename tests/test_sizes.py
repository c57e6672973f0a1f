"""Files stay under 500 lines and functions under 80: what is longer is named here."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAX_FILE_LINES, MAX_FUNCTION_LINES = 500, 80


def source_files():
    return sorted(path for folder in ("src", "tools", "examples") for path in (ROOT / folder).rglob("*.py"))


def long_functions(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = node.end_lineno - node.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {lines} lines"


def test_there_is_source_to_measure():
    assert len(source_files()) > 20


def test_no_source_file_is_over_500_lines():
    sizes = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in source_files()}
    assert {name: lines for name, lines in sizes.items() if lines > MAX_FILE_LINES} == {}


def test_no_function_is_over_80_lines():
    assert [text for path in source_files() for text in long_functions(path)] == []
