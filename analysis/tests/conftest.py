"""Settings of all tests: plugins find each other as in Ansible, and hypothesis has no time limit.

Other programs may use the processors, so examples of hypothesis have no deadline.
"""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

pytest.register_assert_rewrite("support")


@pytest.fixture
def short_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets charts show the loads of the evidence, which are short."""
    monkeypatch.setattr("dohyo.report.measured.SHORTEST_SECONDS", 1.0)
