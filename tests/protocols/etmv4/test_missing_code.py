"""Where code is missing, and where trace contradicts the program.

Evidence: real captures, whose memory images are taken away or changed.  What is remembered gives the elements that the
packets give one by one, and few packets are handled one by one.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

import pytest

from gdb_etm.capture import MemoryImage, RawCapture
from gdb_etm.history.build import build
from gdb_etm.protocols.elements import Gap, GapReason
from gdb_etm.protocols.etmv4.decoder import Decoding
from gdb_etm.protocols.etmv4.handlers import Handlers
from gdb_etm.views.elements import element_rows
from tests.shared import read_capture

Changed = Callable[[MemoryImage], bytes]


def _first_half(image: MemoryImage) -> bytes:
    return image.data[: len(image.data) // 2]


def _other_words(image: MemoryImage) -> bytes:
    # One instruction in sixteen is the one that follows it.
    data = image.data
    pieces = (data[at : at + 60] + data[at + 4 : at + 8] for at in range(0, len(data), 64))
    return b"".join(pieces)[: len(data)]


@pytest.fixture(params=[lambda image: b"", _first_half, _other_words], ids=["none", "first half", "other words"])
def changed(request: pytest.FixtureRequest) -> Changed:
    """How the program's bytes are changed."""
    found: Changed = request.param
    return found


def _with(capture: RawCapture, changed: Changed) -> RawCapture:
    images: Dict[int, Tuple[MemoryImage, ...]] = {}
    for source in capture.sources:
        images[id(source)] = tuple(image._replace(data=changed(image)) for image in source.images)
    return capture._replace(sources=tuple(one._replace(images=images[id(one)]) for one in capture.sources))


def _elements(capture: RawCapture) -> List[Tuple[int, int, Any]]:
    return list(element_rows(build(capture)))


@pytest.mark.pure
def test_gaps_are_remembered(changed: Changed, monkeypatch: pytest.MonkeyPatch) -> None:
    capture = _with(read_capture("juno_r1_1"), changed)
    handle, handled = Handlers.handle, []

    def count(handlers: Handlers, *arguments: Any) -> None:
        handled.append(arguments[0])
        handle(handlers, *arguments)

    monkeypatch.setattr(Handlers, "handle", count)
    found = _elements(capture)
    few = len(handled)
    handled.clear()
    monkeypatch.setattr(Decoding, "_may_follow", lambda decoder: False)
    assert found == _elements(capture)
    gaps = [
        one for _, _, one in found if isinstance(one, Gap) and one.reason in (GapReason.NO_CODE, GapReason.BAD_IMAGE)
    ]
    # A packet with a gap costs no more than one that is followed.
    assert len(gaps) > 500 and few < 1000 < 20000 < len(handled), (len(gaps), few, len(handled))
