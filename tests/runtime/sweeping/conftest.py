"""What tests of recorded programs share."""

import pytest

from dsim.backends.cpu.replay import LaunchTable


@pytest.fixture
def tables(monkeypatch):
    """How many launches and copies each table had that ran."""
    ran = []
    run = LaunchTable.run

    def counted(self, *where):
        ran.append(len(self._rows))
        run(self, *where)

    monkeypatch.setattr(LaunchTable, "run", counted)
    return ran
