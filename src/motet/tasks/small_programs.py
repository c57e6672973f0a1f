"""One-line programs: `f(x)` as one expression out of a closed list of words, and what is allowed in it.

    words of a tiny model     sum ( a * n2 for a in x )
    expression                sum((a * 2 for a in x))
    program                   def f(x):
                                  return sum((a * 2 for a in x))

An expression that passes here has no side effect: it names `x`, `a` and six functions, and reaches no attribute, so
several of them may run in one process without one changing another (`small_runs.py`). Nothing here runs anything.
"""

from __future__ import annotations

import ast
import re

FUNCTIONS = ("sum", "max", "min", "len", "sorted", "abs")
MAX_WORDS, MAX_NODES, MAX_CHARACTERS, MAX_NUMBER = 40, 80, 400, 9_999
WORDS = frozenset([*"xa+-*/%()[],:<>", "for", "in", "if", "else", *FUNCTIONS])

_NUMBER = re.compile(r"n?([0-9]{1,2})")
_NODES = tuple(
    getattr(ast, name)
    for name in (
        *("Expression", "BinOp", "UnaryOp", "Compare", "IfExp", "Call", "Name", "Load", "Store", "Constant"),
        *("List", "Tuple", "Subscript", "Slice", "GeneratorExp", "ListComp", "comprehension"),
        *("Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "USub", "UAdd"),
        *("Lt", "Gt", "LtE", "GtE", "Eq", "NotEq", "In"),
    )
)
"""No attribute, no assignment, no lambda, no text, no power: a value stays a number or a list of them."""


def expression_in(text: str) -> str | None:
    """The expression that the words of `text` are, or None where they are no allowed expression.

    Every word must be one of `WORDS`, `n0` to `n63` or a number of two digits at most; nothing is repaired.

    The expression is spelt as `ast.unparse` spells it.

    >>> expression_in("sum ( a * n2 for a in x )"), expression_in("x + import"), expression_in("x +")
    ('sum((a * 2 for a in x))', None, None)
    """
    words = text.split()
    if not 0 < len(words) <= MAX_WORDS:
        return None
    said = []
    for word in words:
        number = _NUMBER.fullmatch(word)
        if number is None and word not in WORDS:
            return None
        said.append(str(int(number[1])) if number else word)
    return _checked(_parsed(" ".join(said), "eval"))


def program_of(expression: str) -> str:
    """The program whose `f(x)` is `expression`. Where `x` does not occur in it, running the program prints the value.

    >>> print(program_of("2 * 3"))
    def f(x):
        return 2 * 3
    <BLANKLINE>
    print(f(0))
    <BLANKLINE>
    """
    program = f"def f(x):\n    return {expression}\n"
    return program if re.search(r"\bx\b", expression) else program + f"\n{_PRINTS}\n"


def expression_of(program: str) -> str | None:
    """The expression of a program that is `def f(x): return EXPRESSION` and nothing else, or None.

    >>> expression_of("def f(x):\\n    return (x*2)"), expression_of("def f(x): return g(x)")
    ('x * 2', None)
    """
    tree = _parsed(program, "exec") if len(program) <= MAX_CHARACTERS else None
    if not isinstance(tree, ast.Module) or not 0 < len(tree.body) <= 2:
        return None
    function, *rest = tree.body
    if rest and ast.unparse(rest[0]) != _PRINTS:
        return None
    if not isinstance(function, ast.FunctionDef) or function.decorator_list or function.returns is not None:
        return None
    if ast.unparse(function.args) != "x" or function.name != "f" or len(function.body) != 1:
        return None
    (statement,) = function.body
    if not isinstance(statement, ast.Return) or statement.value is None:
        return None
    return _checked(ast.Expression(statement.value))


_PRINTS = "print(f(0))"


def _parsed(text: str, mode: str) -> ast.AST | None:
    try:
        return ast.parse(text, mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # what the parser says of text that is no Python
        return None


def _checked(tree: ast.AST | None) -> str | None:
    """The text of an expression, spelt as Python spells it, if each of its nodes is allowed."""
    nodes = [] if tree is None else list(ast.walk(tree))
    if not nodes or len(nodes) > MAX_NODES or not all(isinstance(node, _NODES) for node in nodes):
        return None
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    if not all(_allowed(node, id(node) in called) for node in nodes):
        return None
    return ast.unparse(tree) if tree is not None else None


def _allowed(node: ast.AST, is_called: bool) -> bool:
    if isinstance(node, ast.Call):
        return not node.keywords and isinstance(node.func, ast.Name)
    if isinstance(node, ast.Name):
        known = FUNCTIONS if is_called else ("a",) if isinstance(node.ctx, ast.Store) else ("a", "x")
        return node.id in known
    if isinstance(node, ast.Constant):
        return type(node.value) is int and 0 <= node.value <= MAX_NUMBER
    if isinstance(node, ast.comprehension):
        return not node.is_async and isinstance(node.target, ast.Name)
    return True
