"""From a scenario to its trials, in order, and to the variables that ansible/trial.yml takes for each."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dohyo import search
from dohyo.scenario import Scenario


@dataclass(frozen=True)
class Trial:
    """One system, started fresh, loaded and measured ``repeats`` times."""

    name: str
    system: str


def trials(scenario: Scenario) -> list[Trial]:
    """The trials in the order of measuring; the number in the name keeps folders in that order."""
    return [Trial(f"{number:02d}-{system}", system) for number, system in enumerate(scenario.systems, start=1)]


def variables(trial: Trial, scenario: Scenario, folder: Path, keep: bool) -> dict[str, Any]:
    """The extra variables of ``ansible-playbook trial.yml``.

    :param folder: where the trial's evidence goes
    :param keep: leave the servers up at the end
    """
    return {
        "trial_system": trial.system,
        "trial_name": trial.name,
        "trial_dir": str(folder),
        "trial_properties": scenario.client_properties,
        "trial_threads": scenario.number("threadcount"),
        "trial_repeats": scenario.repeats,
        "trial_warmup": scenario.warmup,
        "trial_duration": scenario.duration,
        "trial_conditions": scenario.conditions,
        "trial_client_heap": scenario["client_heap"],
        "trial_strict": scenario["strict_conditions"] == "true",
        "trial_keep": keep,
        **({"trial_search": asdict(settings)} if (settings := search.asked(scenario)) else {}),
        # What the trial is a part of, for the summary alone.
        **({"trial_scale": scenario["scale"], "trial_full": dict(scenario.full)} if scenario.full else {}),
        **scenario.role_variables,
    }
