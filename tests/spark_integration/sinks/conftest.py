import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def no_idle_producers() -> Iterator[pytest.MonkeyPatch]:
    """A patch under which no idle producer of earlier tasks is there, and which leaves none behind."""
    from spark_integration.sinks.process_store import HOME

    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, HOME, raising=False)
        yield patch
        sys.modules.pop(HOME, None)
