"""Reports the result of a phase: clients.json, the messages for the user, and whether the phase is valid."""

from __future__ import annotations

from typing import Any

from .conductor import Client, Conductor, Host, Node


def report(conductor: Conductor, skew_limit_ms: float, *, measured: bool) -> dict[str, Any]:
    """Returns the content of clients.json.

    :param skew_limit_ms: maximum start skew of the clients, and maximum error of a clock's offset
    :param measured: whether the phase is measured; the start skew of an unmeasured load does not matter
    """
    agreed = conductor.agreed
    clients = {name: host.client for name, host in conductor.hosts.items() if host.client is not None}
    ends = [client.finished or client.time for client in clients.values() if client.state == "ended"]
    first_end = min((end for end in ends if end is not None), default=None)
    starts = [client.started for client in clients.values() if client.started is not None]

    def after_start(time: float | None) -> float | None:
        return None if time is None or agreed is None else round(time - agreed, 3)

    def client_row(name: str, client: Client) -> dict[str, Any]:
        end = client.finished or client.time
        return {
            **_clock(conductor.hosts[name]),
            "start_ms": milliseconds(client.started - agreed if client.started is not None and agreed else None),
            "end_ms": milliseconds(end - first_end if end is not None and first_end is not None else None),
            "state": client.state,
            "exit": client.exit,
            "reason": client.reason,
            "inserted": client.inserted,
        }

    def node_row(name: str, node: Node) -> dict[str, Any]:
        return {
            **_clock(conductor.hosts[name]),
            "state": node.state,
            "at": after_start(node.time),
            "reason": node.reason,
            "cpu_seconds": round(node.cpu, 2) if node.cpu is not None else None,
            "memory_mb": round(node.memory, 1) if node.memory is not None else None,
        }

    result: dict[str, Any] = {
        "agreed": agreed,
        "offset_limit_ms": skew_limit_ms,
        "warmup_seconds": after_start(conductor.measure),
        "warmup_steady": conductor.steady,
        "warmup_compiling": None if conductor.compiling is None else round(conductor.compiling, 3),
        "clients": {name: client_row(name, client) for name, client in clients.items()},
        "nodes": {name: node_row(name, host.node) for name, host in conductor.hosts.items() if host.node is not None},
        "start_skew_ms": milliseconds(max(starts) - min(starts) if starts else None),
        "end_skew_ms": milliseconds(max(e for e in ends if e is not None) - first_end if first_end else None),
    }
    failure = _failure(conductor, result, skew_limit_ms, measured=measured)
    return {
        **result,
        "valid": not failure,
        "failure": failure,
        "events": [{"at": after_start(at), "host": host, "what": text} for at, host, text in sorted(conductor.events)],
    }


def _clock(host: Host) -> dict[str, Any]:
    reading = host.reading
    return {
        "offset_ms": milliseconds(reading.offset if reading else None),
        "offset_error_ms": milliseconds(reading.error if reading else None),
    }


def faults(conductor: Conductor, requested: str) -> dict[str, Any] | None:
    """Returns the content of faults.json; None if the run has no faults."""
    plan, window = conductor.plan, conductor.measure
    if not plan.faults:
        return None

    def in_window(time: float | None) -> float | None:
        return None if time is None or window is None else round(time - window, 3)

    def entry(kind: str, target: str, second: float | None, effects: dict[str, Any]) -> dict[str, Any]:
        """Returns the entry for one fault, with its effect on each host."""

        begins = {name: round(effect["at"] - window, 3) for name, effect in effects.items() if effect["at"] and window}
        # Compute the end from the start, and take the duration from the host's clock.
        ends = {
            name: round(begins[name] + effect["done"] - effect["began"], 3)
            for name, effect in effects.items()
            if name in begins and effect["done"] is not None
        }
        hosts = {
            name: {"at": begins.get(name), **{key: effect[key] for key in ("began", "done", "what", "error")}}
            for name, effect in effects.items()
        }
        return {
            "kind": kind,
            "target": target,
            "planned": second,
            "began": min(begins.values(), default=None),
            "done": max(ends.values(), default=None),
            "hosts": hosts,
        }

    reachable = {name: host for name, host in conductor.hosts.items() if host.reading is not None}
    events = []
    for number, fault in enumerate(plan.faults):
        unknown = {"at": None, "began": None, "done": None, "what": None, "error": "the host did not report it"}
        reports = dict.fromkeys(fault["hosts"], unknown)
        reports |= {
            name: effect for name, host in reachable.items() for effect in host.effects if effect["n"] == number
        }
        events.append(entry(fault["kind"], fault["target"], fault["at"], reports))
    undone = [
        entry(effect["kind"], name, None, {name: effect})
        for name, host in reachable.items()
        for effect in host.effects
        if effect["n"] is None
    ]
    whole = [time for host in conductor.hosts.values() if host.has_faults for time in host.whole or [None]]
    return {
        "asked": requested,
        "window_began": window,
        "window_ended": None if window is None or plan.duration is None else window + plan.duration,
        "events": events,
        "undone": undone,
        "whole": None if not whole or None in whole else in_window(max(time for time in whole if time is not None)),
    }


def _failure(conductor: Conductor, result: dict[str, Any], skew_limit_ms: float, *, measured: bool) -> str:
    """Returns why the phase is invalid; empty if it is valid."""
    # In a run with faults, the end of a server is a result.
    good = {"ran", "ended"} if conductor.plan.faults else {"ran"}
    broken = [row["reason"] for row in result["nodes"].values() if row["state"] not in good]
    if conductor.failure or broken:
        return "; ".join(dict.fromkeys([conductor.failure] * bool(conductor.failure) + broken))
    if not measured:
        return ""
    for name, host in conductor.hosts.items():
        if host.jump:
            return f"the clock of {name} moved by {host.jump:+.1f} s during the run; check its time service"
    return "" if len(result["clients"]) == 1 else _unequal_starts(result, skew_limit_ms)


def _unequal_starts(result: dict[str, Any], skew_limit_ms: float) -> str:
    """Returns a message if the clients did not begin together, or if this is not known; otherwise an empty string."""
    skew = result["start_skew_ms"]
    if skew is None or skew > skew_limit_ms:
        return f"clients began {skew} ms apart, over client_skew_limit_ms={skew_limit_ms:g}; raise client_start_delay"
    for name, row in result["clients"].items():
        if row["offset_error_ms"] > skew_limit_ms:
            return (
                f"clock of {name} known to ±{row['offset_error_ms']} ms, over client_skew_limit_ms={skew_limit_ms:g};"
                " use a faster link"
            )
    return ""


def sentences(phase: str, result: dict[str, Any]) -> list[str]:
    """Returns the messages for the user: a failure, or the start and end skew if there are several clients."""
    rows = result["clients"].values()
    if result["failure"]:
        return [f"{phase}: {result['failure']}"]
    if len(rows) < 2 or result["start_skew_ms"] is None:
        return []
    error = max(row["offset_error_ms"] for row in rows)
    return [
        f"{phase}: {len(rows)} clients, start skew {result['start_skew_ms']:.1f},"
        f" end skew {result['end_skew_ms']:.1f}, clocks ±{error:.1f} ms"
    ]


def milliseconds(seconds: float | None) -> float | None:
    """Converts seconds to ms, rounded to the µs; None stays None."""
    return None if seconds is None else round(seconds * 1e3, 3)
