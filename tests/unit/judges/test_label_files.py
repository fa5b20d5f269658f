"""Labels of judges as files: `raggate labels` reads them, scores them and tells how far the models agree."""

from __future__ import annotations

from msgspec.structs import replace

from builders import make_case, make_chunk, make_labelled, make_response, make_result
from raggate.judges.label_files import label_files
from raggate.models.judging import LABELS, Judgement
from raggate.models.run import LabelledResult
from raggate_interop.labels.agreement import pair_agreement
from raggate_interop.labels.models import RetrievalJudgment
from raggate_interop.pragmata.sheets import read_sheet


def labelled(name: str, *votes: str, answer: str = "So [1].") -> LabelledResult:
    """Build an answer with the grounding labels of each judge, `y` and `n` in their order; `-` for not judged."""
    case = make_case(name)
    item = make_labelled(case, make_result(name, response=make_response(make_chunk(), answer=answer)))
    judgements = []
    for number, label in enumerate(LABELS["grounding"]):
        said = [_said(label, f"judge {place}", vote[number]) for place, vote in enumerate(votes, 1)]
        whole = said[0] if len(said) == 1 else replace(said[0], judge="", votes=tuple(said))
        judgements.append(whole)
    return replace(item, judgements=tuple(judgements))


def _said(label: str, judge: str, letter: str) -> Judgement:
    value = None if letter == "-" else float(letter == "y")
    return Judgement(score=label, value=value, reason="timeout" if value is None else None, judge=judge)


def test_each_judge_of_a_panel_is_an_annotator() -> None:
    """A row for each model, so that agreement between them can be told; one that did not judge has none."""
    items = [labelled("a", "ynnyn", "ynnyn"), labelled("b", "nynnn", "nynnn"), labelled("c", "ynnyn", "-----")]
    sheet = read_sheet(label_files(items)["grounding.csv"], "grounding.csv")
    judges = [judgment.annotator for judgment in sheet.judgments]
    assert judges == ["judge 1", "judge 2", "judge 1", "judge 2", "judge 1"]
    (pair,) = pair_agreement(sheet.judgments)
    assert (pair.first, pair.second, pair.shared, pair.kappas["support_present"]) == ("judge 1", "judge 2", 2, 1.0)


def test_an_answer_is_no_formula() -> None:
    """What a spreadsheet would run is text there, and quotes, commas and line breaks stay in their cell."""
    item = labelled("a", "ynnyn", answer='=cmd("x"),\n"y"')
    content = label_files([item])["grounding.csv"].decode()
    assert content.splitlines()[1].startswith('a hybrid,judge 1,"\'=cmd(""x""), ""y""",')


def retrieved(relevant: tuple[int, ...], sufficient: tuple[int, ...], misleading: tuple[int, ...]) -> LabelledResult:
    """Build an answer with four chunks, of which the third is the first again, and the labels of its passages."""
    chunks = [make_chunk(name, text=text) for name, text in (("c1", "=a"), ("=c2", ""), ("c1", "=a"), ("c4", "d"))]
    item = make_labelled(make_case("a"), make_result("a", response=make_response(*chunks)))
    said = zip(LABELS["retrieval"], (relevant, sufficient, misleading), strict=True)
    judgements = tuple(
        Judgement(score=label, value=len(numbers) / 4, passages=numbers, judge="small") for label, numbers in said
    )
    return replace(item, judgements=judgements)


def test_a_row_for_each_passage() -> None:
    """Ranks count each chunk once, so the fourth place is rank 3; texts are no formulas, and none is blank."""
    content = label_files([retrieved((1, 3, 4), (4,), (2,))])["retrieval.csv"]
    sheet = read_sheet(content, "retrieval.csv")
    rows = [
        (judgment.chunk_id, judgment.rank, judgment.chunk, *judgment.labels.values())
        for judgment in sheet.judgments
        if isinstance(judgment, RetrievalJudgment)
    ]
    assert rows == [
        ("c1", 1, "'=a", True, False, False),
        ("'=c2", 2, "no text", False, False, True),
        ("c4", 3, "d", True, True, False),
    ]
