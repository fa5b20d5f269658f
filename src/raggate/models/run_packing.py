"""Results as bytes and back, for runs that are too long for memory. The bytes never leave the process."""

from __future__ import annotations

import marshal
import pickle
from typing import Any

from raggate.models.case_packing import case_of, case_values
from raggate.models.noun_packing import Noun
from raggate.models.probe import Probe
from raggate.models.run import (
    Chunk,
    Failure,
    LabelledResult,
    Labels,
    Leak,
    ProbeAnswer,
    Reference,
    Response,
    Result,
)
from raggate.text.long_sequence import Packing

_CHUNK, _RESPONSE, _RESULT = Noun(Chunk), Noun(Response), Noun(Result)
_LABELS, _LEAK, _REFERENCE, _FAILURE = Noun(Labels), Noun(Leak), Noun(Reference), Noun(Failure)
_PROBE = Noun(Probe)
_CHUNKS, _REFERENCES = _RESPONSE.places("chunks", "references")
_RESPONSE_OF, _FAILURE_OF = _RESULT.places("response", "failure")
(_LEAKS,) = _LABELS.places("leaks")


def _result_out(result: Result) -> list[Any]:
    values = list(_RESULT.values(result))
    if result.response is not None:
        response = list(_RESPONSE.values(result.response))
        response[_CHUNKS] = list(map(_CHUNK.values, result.response.chunks))
        response[_REFERENCES] = list(map(_REFERENCE.values, result.response.references))
        values[_RESPONSE_OF] = response
    if result.failure is not None:
        values[_FAILURE_OF] = _FAILURE.values(result.failure)
    return values


def _result_in(values: list[Any]) -> Result:
    response, failure = values[_RESPONSE_OF], values[_FAILURE_OF]
    if response is not None:
        response[_CHUNKS] = tuple(map(_CHUNK.made, response[_CHUNKS]))
        response[_REFERENCES] = tuple(map(_REFERENCE.made, response[_REFERENCES]))
        values[_RESPONSE_OF] = _RESPONSE.made(response)
    if failure is not None:
        values[_FAILURE_OF] = _FAILURE.made(failure)
    return _RESULT.made(values)


def _labelled_out(item: LabelledResult) -> bytes:
    labels = list(_LABELS.values(item.labels))
    labels[_LEAKS] = list(map(_LEAK.values, item.labels.leaks))
    # few runs are judged, and what judges say has parts of many kinds
    judgements = pickle.dumps(item.judgements) if item.judgements else None
    return marshal.dumps((case_values(item.case), _result_out(item.result), labels, judgements))


# what is read below this process wrote, into a file that only it has
def _labelled_in(data: bytes) -> LabelledResult:
    case, result, labels, judgements = marshal.loads(data)  # noqa: S302
    labels[_LEAKS] = tuple(map(_LEAK.made, labels[_LEAKS]))
    return LabelledResult(
        case=case_of(case),
        result=_result_in(result),
        labels=_LABELS.made(labels),
        judgements=pickle.loads(judgements) if judgements else (),  # noqa: S301
    )


def _probe_answer_out(answer: ProbeAnswer) -> bytes:
    leaks = tuple(map(_LEAK.values, answer.leaks))
    return marshal.dumps((_PROBE.values(answer.probe), _result_out(answer.result), answer.strange_texts, leaks))


def _probe_answer_in(data: bytes) -> ProbeAnswer:
    probe, result, strange_texts, leaks = marshal.loads(data)  # noqa: S302
    return ProbeAnswer(
        probe=_PROBE.made(probe),
        result=_result_in(result),
        strange_texts=strange_texts,
        leaks=tuple(map(_LEAK.made, leaks)),
    )


RESULTS: Packing[Result] = Packing(
    lambda result: marshal.dumps(_result_out(result)),
    lambda data: _result_in(marshal.loads(data)),  # noqa: S302
)
"""A result, all of it."""

LABELLED: Packing[LabelledResult] = Packing(_labelled_out, _labelled_in)
"""A labelled result with its case and its judgements."""

PROBE_ANSWERS: Packing[ProbeAnswer] = Packing(_probe_answer_out, _probe_answer_in)
"""A probe with what came of it."""
