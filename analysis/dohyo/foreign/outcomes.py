"""Counts operations by outcome: succeeded, not found, failed.

Clients report the outcomes in return codes, in separate rows (READ-FAILED, UPDATE-ERROR), or in both. YCSB before 0.6
reports them in return codes; its row of an operation type counts operations, whatever their outcome.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from dohyo.evidence.result_lines import NOT_FOUND, OK, Operation, failures, successes
from dohyo.evidence.rows import Run
from dohyo.operations import FAILED, INTENDED, READ_MODIFY_WRITE, is_call, is_failure, is_not_found, outcome
from dohyo.scenario import properties
from dohyo.scenario.phases import LOAD


def operations_by_outcome(operations: Mapping[str, Operation]) -> dict[str, dict[str, int]]:
    """Returns, for each type, the number of operations with each status. Includes types such as VERIFY and COMMIT."""
    result: dict[str, dict[str, int]] = {}
    rows_of: dict[str, dict[str, int]] = {}  # rows such as READ-FAILED, by type
    for kind, count in operations.items():
        if (plain := _plain(kind)) != kind:
            rows_of.setdefault(plain, {})[kind] = count.operations or 0
    for name in dict.fromkeys(_plain(name) for name in operations if not name.startswith(INTENDED)):
        if name == READ_MODIFY_WRITE:
            continue  # its READ and its UPDATE are counted
        operation = operations.get(name, Operation(operations=0))
        rows = rows_of.get(name, {})
        attempted = (operation.operations or 0) + sum(rows.values())
        if sum(operation.returns.values()) == attempted:
            result[name] = operation.returns
        else:  # there are no return codes, or one for each record of a batch
            result[name] = {
                "OK": operation.operations or 0,
                "ERROR": sum(count for kind, count in rows.items() if is_failure(kind)),
                "NOT_FOUND": sum(count for kind, count in rows.items() if is_not_found(kind)),
            }
    return result


def failed_calls(operations: Mapping[str, Operation]) -> int:
    """Returns the number of calls to the database that ended with an error."""
    return sum(failures(counts) for name, counts in operations_by_outcome(operations).items() if is_call(name))


def not_found_calls(operations: Mapping[str, Operation]) -> int:
    """Returns the number of calls to the database that found nothing."""
    by_outcome = operations_by_outcome(operations)
    return sum(counts.get(NOT_FOUND, 0) for name, counts in by_outcome.items() if is_call(name))


def with_codes(operations: Mapping[str, Operation], size: int | None, *, lists_failures: bool) -> dict[str, Operation]:
    """Returns the operation types with return codes that count records. Codes that cannot be computed are empty.

    :param size: number of records per operation; None if not known
    :param lists_failures: whether a type without rows for failures certainly had no failures
    """
    result = dict(operations)
    for name, counts in operations_by_outcome(operations).items():
        operation = operations.get(name, Operation(operations=0))
        if operation.returns and size == 1:
            continue
        has_failures = any(count for status, count in counts.items() if status != "OK")
        if size is None or not (operation.returns or lists_failures or has_failures):
            result[name] = structs.replace(operation, returns={})
        else:
            scaled = {status: count * (size if is_call(name) else 1) for status, count in counts.items() if count}
            records = successes(scaled) if is_call(name) else None
            result[name] = structs.replace(operation, returns=scaled, records=records)
    return result


def problems(phase: str, run: Run, *, whole: bool | None) -> list[str]:
    """Describes the shares of failures that exceed the limits of Dohyo's own runs, largest first.

    docs/method.md#when-a-run-is-invalid lists the limits.

    :param whole: whether a load inserted all its records; if None (not known), the load is checked like a run
    """
    if phase == LOAD and whole:
        return []
    groups = [{name: operation.returns for name, operation in run.own.items()}]
    rest = [name for name in run.by_operation if not is_call(name.removeprefix(INTENDED))]
    groups += [{name: run.by_operation[name].returns} for name in rest]
    limit = 0.0 if phase == LOAD and whole is False else _limit("maxerrorrate")
    failing = sorted((group for group in groups if _failing(group) > limit), key=_failing, reverse=True)
    parts = []
    if failing:
        types = [_failed(name, counts) for group in failing for name, counts in group.items() if failures(counts)]
        parts.append((_failing(failing[0]), f"failed: {', '.join(types)}; maxerrorrate {limit:.1%}"))
    count, tried = run.returns.get(NOT_FOUND, 0), sum(run.returns.values())
    if (share := count / max(1, tried)) > (limit := _limit("maxnotfoundrate")):
        parts.append((share, f"not found: {count:,} of {tried:,}; maxnotfoundrate {limit:.1%}"))
    return [text for _, text in sorted(parts, key=lambda part: -part[0])]


def mixed(operations: Mapping[str, Operation]) -> list[str]:
    """Returns the operation types whose latencies include operations that failed or found nothing."""
    return [
        name
        for name, operation in operations.items()
        if is_call(name)
        and sum(operation.returns.values()) == operation.operations
        and successes(operation.returns) < (operation.operations or 0)
    ]


def _failed(name: str, counts: Mapping[str, int]) -> str:
    statuses = ", ".join(status for status in counts if status not in OK | {NOT_FOUND, "ERROR"})
    return f"{name} {failures(counts):,} of {sum(counts.values()):,}{f' ({statuses})' if statuses else ''}"


def _failing(group: Mapping[str, Mapping[str, int]]) -> float:
    """Returns the share of operations that failed among all operations of a group of types."""
    return sum(map(failures, group.values())) / max(1, sum(sum(counts.values()) for counts in group.values()))


def _plain(name: str) -> str:
    match = outcome(name)
    return match[0] if match else name.removesuffix(FAILED)


def _limit(key: str) -> float:
    """Returns the default value of a property, which is the limit in Dohyo's own runs."""
    return float(properties.known()[key].default or 0)
