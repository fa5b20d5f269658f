"""Results as bytes and back, for runs that are too long for memory. The bytes never leave the process."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, Generic, TypeVar

from raggate.models.golden import Case
from raggate.models.run import Chunk, Failure, LabelledResult, Labels, Leak, Reference, Response, Result
from raggate.text.long_sequence import Packing

T = TypeVar("T")


class _Noun(Generic[T]):
    """A dataclass as a list of its values, in the order of its fields."""

    def __init__(self, noun: Callable[..., T]) -> None:
        self.names = tuple(field.name for field in fields(noun))  # type: ignore[arg-type]
        self.values = attrgetter(*self.names)
        # written out, as dataclasses do it themselves: every chunk is made again in every pass through a run
        arguments = ", ".join(f"{name}=values[{place}]" for place, name in enumerate(self.names))
        self.made: Callable[[Sequence[Any]], T] = eval(f"lambda values: noun({arguments})", {"noun": noun})  # noqa: S307


_CHUNK, _RESPONSE, _RESULT = _Noun(Chunk), _Noun(Response), _Noun(Result)
_LABELS, _LEAK, _REFERENCE, _FAILURE = _Noun(Labels), _Noun(Leak), _Noun(Reference), _Noun(Failure)
_CHUNKS, _REFERENCES = map(_RESPONSE.names.index, ("chunks", "references"))
_RESPONSE_OF, _FAILURE_OF = map(_RESULT.names.index, ("response", "failure"))
_LEAKS = _LABELS.names.index("leaks")


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


def _labelled_out(item: LabelledResult) -> tuple[Any, bytes]:
    labels = list(_LABELS.values(item.labels))
    labels[_LEAKS] = list(map(_LEAK.values, item.labels.leaks))
    kept = (item.case, item.judgements) if item.judgements else item.case
    return kept, marshal.dumps((_result_out(item.result), labels))


def _labelled_in(kept: Any, data: bytes) -> LabelledResult:
    result, labels = marshal.loads(data)  # noqa: S302 - what this process wrote, into a file that only it has
    labels[_LEAKS] = tuple(map(_LEAK.made, labels[_LEAKS]))
    case, judgements = (kept, ()) if isinstance(kept, Case) else kept
    return LabelledResult(case=case, result=_result_in(result), labels=_LABELS.made(labels), judgements=judgements)


RESULTS: Packing[Result] = Packing(
    lambda result: (None, marshal.dumps(_result_out(result))),
    lambda _, data: _result_in(marshal.loads(data)),  # noqa: S302 - as above
)
"""A result, all of it."""

LABELLED: Packing[LabelledResult] = Packing(_labelled_out, _labelled_in)
"""A labelled result, but for its case and its judgements, which stay in memory."""
