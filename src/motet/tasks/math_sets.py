"""Mathematics with one right answer: AIME, AMC, MATH-500, OlympiadBench, GSM8K, DAPO-Math, Polaris."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from motet.errors import ConfigError
from motet.tasks.answering import ANSWER_FORM, BOXED_FORM
from motet.tasks.answers import FORMS, Rules, extract, is_right
from motet.tasks.answers.equal import MAX_LENGTH
from motet.tasks.answers.exact import rational
from motet.tasks.answers.latex import bare, tidy
from motet.tasks.finding import near
from motet.tasks.rows import HUB, LeftOut, Place, Row, RowTasks, text_of

ASKED = {
    "hashes": ANSWER_FORM,
    "stated": "End with one line: The answer is, and the answer.",
    "last_number": "End with the answer, a number.",
}
_PERCENT = re.compile(r"(?i)\bpercent")


@dataclass(frozen=True, slots=True)
class MathTask:
    r"""A question with one answer. `many`: the answer is several, set apart by commas, in any order. `unit` is that of
    the answer where the data set keeps it apart; `forms` are the places where an answer is looked for.

    >>> task = MathTask("t-1", "What is half of one?", r"\frac{1}{2}")
    >>> task.check(r"It is \boxed{0.5}."), task.check("#### 1/2"), task.check(r"\boxed{2}")
    (1.0, 1.0, 0.0)
    """

    id: str
    question: str
    answer: str
    many: bool = False
    unit: str = ""
    forms: tuple[str, ...] = FORMS

    @property
    def rules(self) -> Rules:
        return Rules(many=self.many, percent=bool(_PERCENT.search(self.question)), unit=self.unit)

    def check(self, text: str) -> float:
        """1 where the answer that `text` gives is the right one, else 0."""
        return float(is_right(text, self.answer, self.rules, self.forms))

    @property
    def answer_form(self) -> str:
        """The box, unless the set counts another form alone."""
        return ASKED.get(self.forms[0], BOXED_FORM) if len(self.forms) == 1 else BOXED_FORM

    def answer_in(self, text: str) -> str | None:
        r"""The answer of `text`: an exact number in lowest terms, anything else tidied. Two that say the same in
        different algebra count as different here, which costs a round of talk and never a verdict.

        >>> [MathTask("t", "?", "0.5").answer_in(text) for text in (r"\boxed{\frac{2}{4}}", "#### 0.5", "no")]
        ['1/2', '1/2', None]
        """
        found = extract(text, self.forms)
        if found is None or len(found.answer) > MAX_LENGTH:
            return found.answer.strip() if found else None
        neat = tidy(found.answer)
        value = None if self.many else rational(neat)
        is_short = value is not None and max(value.numerator.bit_length(), value.denominator.bit_length()) < 1_000
        return (str(value) if is_short else bare(neat)) or None

    def form(self, text: str) -> float:
        """1 where the answer stands in the form that was asked for, else 0."""
        form = self.forms[0] if len(self.forms) == 1 else "boxed"
        return float(extract(text, (form,)) is not None)


@dataclass(frozen=True, slots=True)
class Schema:
    """Where a set keeps things. `home` is the hub id of each split it has; keys are tried in their order."""

    home: dict[str, str]
    question: tuple[str, ...] = ("problem", "question")
    answer: tuple[str, ...] = ("answer", "final_answer")
    id: tuple[str, ...] = ("id", "unique_id", "idx", "ID")
    read_question: Callable[[Row, Place], str] | None = None
    read_answer: Callable[[Row, Place], str] | None = None


def _after_hashes(row: Row, place: Place) -> str:
    text = text_of(row, ("answer",), place)
    found = extract(text, ("hashes",))
    if found is None or not found.answer:
        raise place.wrong("the solution has no line '#### answer'", "answer", "end it with #### and the answer")
    return found.answer


def _given_or_boxed(row: Row, place: Place) -> str:
    """The key `answer`; sets without one keep it in the box that ends their solution."""
    for key in ("answer", "Answer"):
        if row.get(key) is not None:
            return _plain(row[key], place, key)
    found = extract(text_of(row, ("solution", "Solution"), place), ("boxed",))
    if found is None:
        raise place.wrong("neither an answer nor a boxed one", "answer or solution", "give the answer")
    return found.answer


def _plain(value: Any, place: Place, key: str) -> str:
    """An answer as text; whole numbers may be stored as 27.0."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or not str(value).strip():
        raise place.wrong(f"{key!r} is {value!r}", key, "make it a text or a number")
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _final(row: Row, place: Place) -> str:
    """OlympiadBench keeps a list of one text."""
    value = row.get("final_answer")
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and one.strip() for one in value):
        raise place.wrong(f"'final_answer' is {value!r}", "final_answer", "make it a list of texts")
    return ", ".join(value)


def _with_context(row: Row, place: Place) -> str:
    question, context = text_of(row, ("question",), place), row.get("context")
    return f"{context.strip()}\n\n{question}" if isinstance(context, str) and context.strip() else question


_DAPO_HEAD = re.compile(r"\s*Solve the following math problem step by step\.[^\n]*\n+")
_DAPO_TAIL = re.compile(r"\n+Remember to put your answer on its own line[^\n]*\s*$")


def _dapo_question(row: Row, place: Place) -> str:
    """The question of DAPO-Math without the instructions it is wrapped in: a workflow writes its own."""
    value = row.get("prompt")
    if isinstance(value, list):
        users = [one.get("content") for one in value if isinstance(one, dict) and one.get("role") == "user"]
        value = users[0] if users else None
    if not isinstance(value, str) or not value.strip():
        raise place.wrong("'prompt' holds no user message", "prompt", 'make it a text, or [{"role": "user", ...}]')
    return _DAPO_TAIL.sub("", _DAPO_HEAD.sub("", value)).strip()


def _dapo_answer(row: Row, place: Place) -> str:
    model = row.get("reward_model")
    if isinstance(model, dict) and model.get("ground_truth") is not None:
        return _plain(model["ground_truth"], place, "reward_model.ground_truth")
    if row.get("solution") is not None:
        return _plain(row["solution"], place, "solution")
    raise place.wrong("no right answer", "reward_model.ground_truth", "give it")


_CONTEST = Schema({}, question=("problem", "question", "Problem"), read_answer=_given_or_boxed)
SCHEMAS = {
    "aime24": Schema({"test": "hub:math-ai/aime24::test"}, _CONTEST.question, read_answer=_given_or_boxed),
    "aime25": Schema({"test": "hub:math-ai/aime25::test"}, _CONTEST.question, read_answer=_given_or_boxed),
    "amc23": Schema({"test": "hub:math-ai/amc23::test"}, _CONTEST.question, read_answer=_given_or_boxed),
    "math500": Schema({"test": "hub:HuggingFaceH4/MATH-500::test"}, id=("unique_id", "id")),
    "olympiadbench": Schema(
        {"test": "hub:Hothan/OlympiadBench:OE_TO_maths_en_COMP:train"}, read_question=_with_context, read_answer=_final
    ),
    "gsm8k": Schema(
        {"train": "hub:openai/gsm8k:main:train", "test": "hub:openai/gsm8k:main:test"}, read_answer=_after_hashes
    ),
    "dapo_math": Schema(
        {"train": "hub:BytedTsinghua-SIA/DAPO-Math-17k::train"}, read_question=_dapo_question, read_answer=_dapo_answer
    ),
    "polaris": Schema({"train": "hub:POLARIS-Project/Polaris-Dataset-53K::train"}, read_answer=_given_or_boxed),
}
FORM_CHOICES = {"any": FORMS, **{form: (form,) for form in FORMS}}


class MathSet(RowTasks):
    """One of the sets of `SCHEMAS`.

    `train`, `validation`, `test`: a file of the hub's own rows (.jsonl, .json, .parquet, gzipped or not), `hub` for the
    set's own home, or `hub:owner/name:config:split`. With none given, every split that the set has comes from its home.
    `answer_form`: `any`, or the one form that counts (`boxed`, `hashes`, `stated`, `last_number`). `validation_rows`,
    `drop_overlap`: see `RowTasks`. `make` is the command that makes the files; an error repeats it.

    Raises `ConfigError` for a wrong setting and without math-verify, `TaskError` naming file, line and key for a row.
    """

    def __init__(
        self,
        schema: str,
        *,
        train: str = "",
        validation: str = "",
        test: str = "",
        answer_form: str = "any",
        validation_rows: int = 0,
        drop_overlap: bool = False,
        make: str = "",
        name: str = "",
    ) -> None:
        self.schema = SCHEMAS[schema]
        where: dict[str, object] = {"task_set": name or schema}
        if answer_form not in FORM_CHOICES:
            fix = near(answer_form, FORM_CHOICES)
            raise ConfigError(f"'answer_form' is {answer_form!r}", where=where, fix=fix)
        if find_spec("math_verify") is None:
            raise ConfigError("answers in algebra need math-verify", where=where, fix='pip install "motet[math]"')
        self._forms = FORM_CHOICES[answer_form]
        sources = chosen_sources(self.schema.home, {"train": train, "validation": validation, "test": test}, where)
        super().__init__(
            name or schema, sources, self._task, make=make, validation_rows=validation_rows, drop_overlap=drop_overlap
        )

    def _task(self, row: Row, place: Place) -> MathTask:
        schema = self.schema
        if row.get("modality") == "Multimodal" or row.get("answer_type") == "Need_human_evaluate":
            raise LeftOut("pictures or a human judge needed")
        question = schema.read_question(row, place) if schema.read_question else text_of(row, schema.question, place)
        answer = (
            schema.read_answer(row, place)
            if schema.read_answer
            else _plain(
                next((row[key] for key in schema.answer if row.get(key) is not None), None), place, schema.answer[0]
            )
        )
        info = row.get("extra_info")
        numbered = {**row, **({"id": info.get("index")} if isinstance(info, dict) and info.get("index") else {})}
        name = next((numbered[key] for key in schema.id if numbered.get(key) is not None), place.line)
        unit = row.get("unit")
        return MathTask(
            f"{self.name}/{name}",
            question.strip(),
            answer.strip(),
            many=bool(row.get("is_multiple_answer")),
            unit=unit.strip() if isinstance(unit, str) else "",
            forms=self._forms,
        )


def chosen_sources(home: dict[str, str], given: dict[str, str], where: dict[str, object]) -> dict[str, str]:
    """Split -> source: what is given, `hub` replaced by the set's home; all of the home where nothing is given.

    >>> chosen_sources({"test": "hub:a/b"}, {"train": "", "test": "hub"}, {})
    {'test': 'hub:a/b'}
    """
    chosen = {split: source for split, source in given.items() if source} or dict.fromkeys(home, "hub")
    for split, source in chosen.items():
        if source in ("hub", HUB):
            if split not in home:
                fix = f"its home has {', '.join(home)}; give a file or hub:owner/name:config:split"
                raise ConfigError(f"'{split}' is 'hub', and the set's home has no such split", where=where, fix=fix)
            chosen[split] = home[split]
    return chosen


AIME24 = partial(MathSet, "aime24")
AIME25 = partial(MathSet, "aime25")
AMC23 = partial(MathSet, "amc23")
MATH500 = partial(MathSet, "math500")
OlympiadBench = partial(MathSet, "olympiadbench")
GSM8K = partial(MathSet, "gsm8k")
DapoMath = partial(MathSet, "dapo_math")
Polaris = partial(MathSet, "polaris")
