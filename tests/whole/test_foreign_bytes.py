"""What fuzzing found once stays mended: each reader is given all texts that are kept of it (make test-fuzz looks for others)."""

import sys

import pytest

from folders import TESTS

sys.path.insert(0, str(TESTS / "fuzz"))
import corpus
import readers


@pytest.mark.parametrize("name", readers.READERS)
def test_each_text_is_read_or_refused(name: str) -> None:
    texts = corpus.archived(name)
    assert texts
    for title, content in texts.items():
        try:
            readers.tried(name, content)
        except Exception as error:
            raise AssertionError(f"{name}: {title}: {content[:200]!r}") from error
