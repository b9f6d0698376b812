-- The tables of a database of facts. `python -m dohyo.facts.schema` prints their description for docs/facts.md: the comment
-- above a table describes a row, the comment after a column describes its value, with the unit in brackets.

-- An experiment: one call of `./run.sh`.
create table experiment (
    id integer primary key,
    name text not null unique, -- ID: the name of its folder; the whole path if another experiment has that name
    folder text not null, -- path of its folder
    version text, -- version of Dohyo that measured it
    title text, -- first line of the scenario's file
    scenario text, -- name of that file
    status text, -- `done`, `failed`, `interrupted` or `running`
    started text, -- time in ISO 8601
    finished text -- time in ISO 8601; null: the experiment has not finished, or the time is not known
) strict;

-- A system at a point of the matrix, in one round or in all rounds together.
create table trial (
    id integer primary key,
    experiment integer not null references experiment,
    name text not null, -- folder in `raw/`; for all rounds together, the system and its point
    system text not null, -- short name, such as `cassandra`
    title text not null, -- name of the product
    point text not null, -- dimension of the matrix → value, as a JSON object
    round integer, -- from 1; null: there is only one round, or the row is for all rounds together
    of_rounds integer not null, -- 1: all rounds together; only `row`, `condition`, `accounting` and `run_check` refer to such a trial
    status text not null, -- `ok`, `invalid`, `failed`, `interrupted`, `skipped`, `pending`, `running`
    reason text, -- why the trial is not `ok`; null: it is
    load_is_measured integer not null, -- 1: the load is compared like a run
    system_failed integer not null -- 1: the system failed under load
) strict;

-- The load of a trial, a run of a phase, or a probe of a search. Runs that do not count are included.
create table run (
    id integer primary key,
    trial integer not null references trial,
    name text not null, -- `load`, `run-1`, `probe-1`, …
    phase text not null, -- `load`, the name of the phase, or `probe`
    number integer, -- null: the load
    discarded integer not null, -- 1: it does not count: the scenario discards it, or it was disturbed and measured again
    agreed real, -- [s] the agreed instant at which all clients begin, since 1970 on the controller's clock
    warmup_seconds real not null, -- [s] from the agreed instant to the measured window
    measured_seconds real, -- [s] the measured window of the client that took longest
    operations integer, -- operations of all clients
    records integer, -- records of all clients
    server_cpu_seconds real, -- [s] processor time of all servers in the window
    client_cpu_seconds real, -- [s] processor time of all clients in the window
    start_skew_ms real, -- [ms] time between the starts of the first and the last client
    end_skew_ms real, -- [ms] time between the ends of the first and the last client
    unique (trial, name)
) strict;

-- A client in a run.
create table client (
    id integer primary key,
    run integer not null references run,
    host text not null, -- name in the inventory
    state text, -- `ended`, `failed`, `vanished` or `stopped`
    reason text, -- why the client did not end by itself; null: it did, or the reason is not known
    start_ms real, -- [ms] start of the client, after the agreed instant
    end_ms real, -- [ms] end of the client, after the first client's end
    offset_ms real, -- [ms] clock of the client's host minus the controller's clock
    offset_error_ms real, -- [ms] error of `offset_ms`: half of the shortest round trip
    threads integer,
    target real, -- [1/s] requested rate of operations; 0: as fast as possible
    measured_seconds real, -- [s] length of its measured window
    operations integer,
    records integer,
    failed_operations integer,
    cpu_seconds real, -- [s] processor time of the client in the window
    unique (run, host)
) strict;

-- The servers on a host in a run.
create table node (
    run integer not null references run,
    host text not null, -- name in the inventory
    state text, -- `ran`, `ended` or `vanished`
    reason text, -- why the servers did not run to the end; null: they did, or the reason is not known
    cpu_seconds real, -- [s] processor time of the servers in the window
    memory_mb real, -- [MB] resident memory of the servers
    primary key (run, host)
) strict, without rowid;

-- An operation type in a run, for one client or for all clients together.
create table operation (
    run integer not null references run,
    client integer references client, -- null: all clients together
    operation text not null, -- `READ`, `READ-FAILED`, `Intended-READ`, … as in a row of summary.json
    operations integer, -- operations in the result lines
    records integer, -- records that succeeded; null: not known, or the type has no records
    returns text not null, -- status → number of records, as a JSON object
    log_mean_us real, -- [µs] mean in the result lines
    log_max_us real, -- [µs] maximum in the result lines
    histogram blob, -- histogram of all latencies in HdrHistogram's compressed V2 encoding, whose ratio converts a value to ms; null: no log
    count integer, -- operations in the histogram; null: no histogram
    mean_ms real, -- [ms] mean of the histogram; null: no histogram
    PERCENTILES
    max_ms real, -- [ms] maximum of the histogram; null: no histogram
    unique (run, client, operation)
) strict;

-- An operation type of all clients, or all types (`OVERALL`), in a second of a run's measured window.
create table second (
    run integer not null references run,
    second integer not null, -- [s] start of the second, after the start of the window
    at real not null, -- [s] start of the second, after the agreed instant, as in the other tables
    operation text not null, -- `READ`, `UPDATE`, …; `OVERALL`: all types, also for seconds without any operation
    whole integer not null, -- 1: all clients measured during the whole second; 0: a client's window ended in it or before it
    succeeded integer not null, -- operations that ended in the second and succeeded
    not_found integer not null, -- operations that found nothing
    failed integer not null, -- operations that failed
    p50_ms real, -- [ms] median of the successful operations, at most 0.8 % too high; null: not `OVERALL`, or fewer than 10 operations beyond it
    p99_ms real, -- [ms] p99, with the same error and nulls as `p50_ms`
    max_ms real, -- [ms] maximum, at most 0.8 % too high; null: not `OVERALL`, or no operation
    latency_seconds integer, -- [s] time that these three latencies cover: 1, or 2, 4, … in long runs; null: not `OVERALL`, or no operation
    primary key (run, operation, second)
) strict, without rowid;

-- A host in a phase of a trial, over the measured windows of the runs that count.
create table host (
    trial integer not null references trial,
    phase text not null, -- name of the phase, or `load`
    host text not null, -- name in the inventory
    cpus integer, -- number of processors
    memory_bytes integer, -- [B] memory of the host
    covered_seconds real not null, -- [s] time in the windows for which there are samples
    primary key (trial, phase, host)
) strict, without rowid;

-- A figure of a host, or of one of its devices, over the same windows as in `host`.
create table host_figure (
    trial integer not null references trial,
    phase text not null, -- name of the phase, or `load`
    host text not null, -- name in the inventory
    device text, -- disk or network; null: the whole host
    figure text not null, -- name of a column of `host_second`
    mean real not null, -- mean over time
    maximum real not null, -- value of the highest second
    unique (trial, phase, host, device, figure)
) strict;

-- A sample of a host, or of one of its disks or networks, in a load or a run that counts. There is about one each second.
create table host_second (
    run integer not null references run,
    host text not null, -- name in the inventory
    device text, -- disk or network; null: the whole host, with all of its disks and networks except `lo`
    at real not null, -- [s] end of the sample, after the agreed instant; samples of the warm-up and after the window are included
    seconds real not null, -- [s] length of the sample
    cpu_user real, -- [0 to 1] share of the processors' time
    cpu_system real, -- [0 to 1] share of the processors' time
    cpu_iowait real, -- [0 to 1] share of the processors' time
    cpu_steal real, -- [0 to 1] share of the processors' time that the hypervisor took
    cpu_idle real, -- [0 to 1] share of the processors' time
    memory_used_bytes real, -- [B]
    memory_cached_bytes real, -- [B]
    memory_available_bytes real, -- [B]
    disk_reads_per_second real, -- [1/s]
    disk_read_bytes_per_second real, -- [B/s]
    disk_writes_per_second real, -- [1/s]
    disk_written_bytes_per_second real, -- [B/s]
    disk_utilisation real, -- [0 to 1] share of the time with a request in progress; for the whole host, that of the busiest disk
    network_received_bytes_per_second real, -- [B/s]
    network_sent_bytes_per_second real, -- [B/s]
    other_cpu real, -- [0 to 1] share of the processors' time that other processes used, included in `cpu_user` and `cpu_system`
    processor_frequency real, -- [0 to 1] mean frequency as a share of the highest possible one
    processor_celsius real -- [°C] temperature of the hottest processor
) strict;
create index host_second_of_run on host_second (run, host, at);

-- A figure of the servers' own statistics, which are stored after each run, not each second.
create table server_figure (
    trial integer not null references trial,
    phase text, -- name of the phase: mean over its runs of the growth of a counter, or of a value after the run; null: end of the trial
    host text, -- name in the inventory; null: all hosts together
    figure text not null, -- name in `ansible/systems/NAME/figures.yml`, which ends with the unit
    value real not null,
    unique (trial, phase, host, figure)
) strict;

-- A period of time in a trial, or an event at one time.
create table span (
    trial integer not null references trial,
    run integer references run, -- null: an event outside the runs that left results
    kind text not null, -- `warm-up`, `window`, `GC pause`, `compaction`, `flush`, `fault`, `event`
    host text, -- name in the inventory; null: all hosts
    process text, -- which of several JVMs on a host, such as `datanode`; null: other kinds, or there is only one
    what text, -- description of a fault or an event; null: other kinds
    begin real, -- [s] start, after the agreed instant; null: before it
    end real, -- [s] end, after the agreed instant; `begin` for an event at one time; null: it did not end, or was before that instant
    bytes real -- [B] written by a compaction or a flush; null: other kinds, or not known
) strict;
create index span_of_run on span (run, kind);

-- A kind of background work that the logs of a host report in a run. Without a row it is not known whether there was any.
create table logged_work (
    run integer not null references run,
    host text not null, -- name in the inventory
    kind text not null, -- `GC pause`, `compaction` or `flush`, as in `span`
    primary key (run, host, kind)
) strict, without rowid;

-- The cost of a fault until the next fault or the end of the window, see [a run with faults](summary-json.md#a-run-with-faults).
create table fault_cost (
    run integer not null references run,
    kind text not null, -- such as `kill`
    target text not null, -- such as `node2`
    hosts text not null, -- names in the inventory, as a JSON list
    begin real, -- [s] start of the fault on its first host, after the agreed instant
    end real, -- [s] start of the event that ended the fault, on its last host, after the agreed instant; null: it was not ended
    seconds real, -- [s] length of the time that is evaluated
    before_ops_per_second real, -- [1/s] successful operations before the first fault; null: none
    zero_seconds integer not null, -- [s] number of seconds without a successful operation
    low_seconds integer, -- [s] number of seconds with less than half of the rate before the first fault; null: there was no rate
    recovered integer, -- 1: the rate became full again; null: there was no rate before the first fault
    recovery_seconds real, -- [s] time from the fault until the rate was full again; null: it did not recover
    restored integer, -- 1: the rate became full again after the fault ended; null also: the fault did not end in the window
    restore_seconds real, -- [s] time from the end of the fault until the rate was full again; null: it was not restored
    worst_p99_ms real, -- [ms] p99 of the worst second, from the intended start; null: no target rate
    worst_p99_second real -- [s] start of the worst second, after the start of the window; null: no target rate
) strict;

-- Records that a trial lost or read wrongly: the [accounts](summary-json.md#accounting) of its acknowledged writes.
create table accounting (
    trial integer primary key references trial,
    sample integer, -- N, if the clients account for one of every N records
    acknowledged integer, -- writes that were acknowledged
    maybe integer, -- writes that failed, but may have been applied
    reads integer, -- reads that could be judged
    unknown_reads integer, -- reads of records of another client, or not in the sample
    stale_reads integer, -- reads that missed a write which was acknowledged before they began
    unwritten_reads integer, -- reads that returned content that was never written
    corrupt_reads integer, -- reads of damaged records
    keys integer, -- records that were read back after the runs
    lost integer, -- records read back that were older than the last acknowledged write
    missing integer, -- records that were missing when they were read back
    unwritten integer, -- records read back with content that was never written
    corrupt integer, -- records read back that were damaged
    unreadable integer, -- records that could not be read back
    read_back integer not null -- 1: every client has read its records back
) strict;

-- A [search](summary-json.md#a-search) for the highest rate at which all bounds hold. Rates are operations of all clients.
create table search (
    trial integer primary key references trial,
    slo text not null, -- the bounds, such as `p99<10ms`
    closed_loop real, -- [1/s] mean rate of the runs before the search, which had no target rate
    maximum real, -- [1/s] the result: the highest rate that held, if a higher one did not; null: only bounds are known
    held real, -- [1/s] the highest rate that held, below all rates that did not; null: none held
    unmet real, -- [1/s] the lowest rate that did not hold; null: all held
    next_target real, -- [1/s] the rate to try next; null: the search is over
    complete integer not null, -- 1: no rate is left to try, and every probe had an answer
    conclusion text not null -- the result as a sentence
) strict;

-- A rate that a search tried. Its `run` has the phase `probe` and its number.
create table probe (
    trial integer not null references search,
    number integer not null, -- from 1
    target real, -- [1/s] requested rate
    achieved real, -- [1/s] operations without error
    held integer, -- 1: all bounds held; null: it is not valid
    reason text, -- what did not hold, or why it is not valid; null: it held
    primary key (trial, number)
) strict, without rowid;

-- The progress of a load, from its clients' logs.
create table load (
    trial integer primary key references trial,
    rows integer not null, -- number of records inserted
    tenths text not null, -- [s] times after the start at which 10 %, 20 %, … 100 % of the records were inserted, as a JSON list
    slowdown real -- duration of the last tenth divided by that of the first
) strict;

-- The progress of a load after each second, and at its end.
create table load_second (
    trial integer not null references trial,
    second real not null, -- [s] time after the start of the load
    rows integer not null, -- number of records inserted until then
    primary key (trial, second)
) strict, without rowid;

-- A condition of a trial. A condition without a row is not known.
create table condition (
    trial integer not null references trial,
    phase text, -- name of the phase; null: the same in all phases
    name text not null, -- as in the conditions of summary.json
    value any not null, -- number or text; 1 and 0 for yes and no
    unit text, -- null: a text, a count or a share
    measured integer not null, -- 1: measured, and may differ from round to round; 0: stated
    unique (trial, phase, name)
) strict;

-- A status, problem or note that decides, or casts doubt on, whether figures count.
create table run_check (
    experiment integer not null references experiment,
    trial integer references trial, -- null: the whole experiment
    run integer references run, -- null: the whole trial
    name text not null, -- `status`, `run`, `deviation`, `note`, `collapse`, `level`, `warm-up`, `equal conditions`, `evidence`
    value any, -- value of the trial, for `equal conditions`; null: other names
    verdict text not null, -- the status of the trial; `invalid`, `unequal`, `warning` or `note`
    reason text -- a sentence; for `equal conditions`, the name of the condition; null: the trial is `ok`
) strict;

-- A figure that others published about the scenario, measured on other hardware.
create table published (
    experiment integer not null references experiment,
    name text not null, -- file of the publication
    title text not null, -- title of the publication
    hardware text not null,
    versions text not null,
    measurement text not null, -- such as `A, 40 GB`
    system text not null, -- as the publication calls it
    point text not null, -- dimension → values, as a JSON object
    operation text not null, -- operation type; empty: all, or that of the table
    per_client integer not null, -- 1: counts and rates are those of one client
    figure text not null, -- a metric, as in `row`
    value any not null -- number; a JSON list for a ratio
) strict;

-- A line of the results: an operation type of a phase of a trial, with all [metrics of a row](summary-json.md#a-row) as columns.
create table row (
    trial integer not null references trial,
    METRICS
    unique (trial, phase, operation, discarded)
) strict;

-- The runs that count, which a system that failed in any round does not have. What they did is between `window_begin` and `window_end` on the axis of `second.at`.
create view counted_run as
select experiment.name as experiment, system, point, round, phase, number, run.id as run, trial.id as trial,
    warmup_seconds as window_begin, warmup_seconds + measured_seconds as window_end
from run join trial on trial.id = run.trial join experiment on experiment.id = trial.experiment
where trial.status = 'ok' and not discarded and phase <> 'probe' and (phase <> 'load' or load_is_measured)
    and (trial.experiment, system, point) not in (select experiment, system, point from trial where system_failed);

-- The rows that count, once for all valid rounds together; a single trial that is not `ok` has none.
create view counted_row as
select experiment.name as experiment, system, point, row.*
from row join trial on trial.id = row.trial join experiment on experiment.id = trial.experiment
where not discarded and round is null and (phase <> 'load' or load_is_measured);
