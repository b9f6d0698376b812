"""Configures all tests: plugins import each other as in Ansible, and Hypothesis sets no deadline for its examples.

There is no deadline because other programs may slow down an example.
"""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

pytest.register_assert_rewrite("support")


@pytest.fixture
def short_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lowers the minimum length of a load for the charts, because the loads in the test data are short."""
    monkeypatch.setattr("dohyo.report.chart_data.SHORTEST_SECONDS", 1.0)
