"""Configures all tests: plugins import each other as in Ansible, and Hypothesis sets no deadline for its examples.

There is no deadline because other programs may slow down an example.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

pytest.register_assert_rewrite("support")


@pytest.fixture
def short_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lowers the minimum length of a load for the charts, because the loads in the test data are short."""
    monkeypatch.setattr("dohyo.report.chart_data.SHORTEST_SECONDS", 1.0)


@pytest.fixture
def own_results(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Replaces the folder results/, whose lock an experiment of this checkout may hold at the same time."""
    folder = tmp_path_factory.mktemp("results")
    monkeypatch.setattr("dohyo.running.experiment.RESULTS", folder)
    return folder
