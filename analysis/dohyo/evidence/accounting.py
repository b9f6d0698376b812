"""Sums the accounts of acknowledged writes (`verify=acknowledged`) over clients, runs and rounds."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, structs

from dohyo.evidence.json_values import Number, Whole


class Accounting(Struct, frozen=True):
    """The number of records or operations for each outcome. docs/faults.md defines the outcomes."""

    sample: Whole = 1  # N if the clients account for one of every N records
    acknowledged: Whole = 0
    maybe: Whole = 0
    reads: Whole = 0
    unknown_reads: Whole = 0
    stale_reads: Whole = 0
    unwritten_reads: Whole = 0
    corrupt_reads: Whole = 0
    keys: Whole = 0
    lost: Whole = 0
    missing: Whole = 0
    unwritten: Whole = 0
    corrupt: Whole = 0
    unreadable: Whole = 0
    read_back: bool = False  # whether every client has read its records back

    @property
    def is_wrong(self) -> bool:
        """Returns whether any record or read contradicts the acknowledged writes."""
        after = self.lost + self.missing + self.unwritten + self.corrupt
        return after + self.stale_reads + self.unwritten_reads + self.corrupt_reads > 0

    def __str__(self) -> str:
        """Describes the counts in words. Counts that are nearly always 0 are left out if they are 0."""
        parts = [f"{self.stale_reads:,} stale of {self.reads:,} reads"]
        # Show losses that some clients found, even if other clients read nothing back.
        if self.read_back or self.keys:
            lost = f"{self.lost + self.missing:,} lost of {self.acknowledged:,} acknowledged"
            parts.append(f"{lost} ({self.keys:,} records read back)")
        if not self.read_back:
            parts.append("not all read back" if self.keys else "not read back")
        unwritten, corrupt = self.unwritten + self.unwritten_reads, self.corrupt + self.corrupt_reads
        rare = (
            (unwritten, "never written"),
            (corrupt, "corrupt"),
            (self.unreadable if self.read_back else 0, "unreadable"),
            (self.maybe, "maybe"),
        )
        parts += [f"{count:,} {outcome}" for count, outcome in rare if count]
        if self.sample > 1:
            parts.append(f"1 of {self.sample} records")
        return ", ".join(parts)


class AccountingReport(Accounting, frozen=True):
    """The account of one client, from its client.json."""

    read_back_seconds: Number | None = None
    read_back_error: str | None = None
    # A list for each second: its number in the window (below 0 in the warm-up); the numbers of stale, unwritten and
    # corrupt reads; the number of failed writes that may have been applied.
    by_second: list[list[int]] = []
    examples: list[str] = []


def together(accounts: Iterable[Accounting | None]) -> Accounting | None:
    """Returns the sum of the accounts that exist, or None if there are none."""
    parts = [account for account in accounts if account is not None]
    if not parts:
        return None
    counts = [name for name in Accounting.__struct_fields__ if name not in ("sample", "read_back")]
    sums = {name: sum(getattr(part, name) for part in parts) for name in counts}
    return Accounting(max(part.sample for part in parts), read_back=all(part.read_back for part in parts), **sums)


def of_all(accounts: Iterable[Accounting | None]) -> Accounting | None:
    """Returns the sum of the accounts of all clients, or of all rounds. If an account is missing, for example because a
    client was killed, the records count as not read back.
    """
    every = list(accounts)
    sums = together(every)
    return structs.replace(sums, read_back=False) if sums is not None and None in every else sums


def losses(report: AccountingReport) -> str:
    """Describes what a client lost in a run without faults, which allows no loss. Returns "" if nothing was lost."""
    counted_losses = (
        (report.lost, f"records whose acknowledged writes were lost: {report.lost:,}"),
        (report.missing, f"acknowledged records that were missing: {report.missing:,}"),
        (report.unwritten, f"records with content that was never written: {report.unwritten:,}"),
        (report.unwritten_reads, f"reads of content that was never written: {report.unwritten_reads:,}"),
        (report.corrupt, f"corrupt records: {report.corrupt:,}"),
        (report.corrupt_reads, f"corrupt reads: {report.corrupt_reads:,}"),
        (
            report.unreadable if report.read_back else 0,
            f"records not read back: {report.unreadable:,} ({report.read_back_error or 'no answer in time'})",
        ),
        (not report.read_back, "the records were not read back"),
    )
    message = "; ".join(loss for count, loss in counted_losses if count)
    return f"{message}; first: {report.examples[0]}" if message and report.examples else message
