-- The tables of a database of facts. `python -m dohyo.facts.schema` writes the tables of docs/facts.md from the comments:
-- the line above a table says what a row is, the text behind a column what it holds, with its unit in brackets.

-- An experiment: one call of `./run.sh`.
create table experiment (
    id integer primary key,
    name text not null unique, -- its ID: the name of its folder; of another one with that name the whole path
    folder text not null, -- path of its folder
    version text, -- version of Dohyo that measured it
    title text, -- first line of the scenario's file
    scenario text, -- name of that file
    status text, -- `done`, `failed`, `interrupted` or `running`
    started text, -- time in ISO 8601
    finished text -- time in ISO 8601; null: it has not finished, or not known
) strict;

-- A system at a point of the matrix in one round, or all rounds of it together.
create table trial (
    id integer primary key,
    experiment integer not null references experiment,
    name text not null, -- folder in `raw/`; of all rounds together the system and its point
    system text not null, -- short name, such as `cassandra`
    title text not null, -- name of the product
    point text not null, -- dimension of the matrix → value, as a JSON object
    round integer, -- from 1; null: there is one round, or the row is of all rounds together
    of_rounds integer not null, -- 1: all rounds of the system at that point together, with `row`, `condition` and `accounting` only
    status text not null, -- `ok`, `invalid`, `failed`, `interrupted`, `skipped`, `pending`, `running`
    reason text, -- why it is not `ok`; null: it is
    load_is_measured integer not null, -- 1: the load is what was measured
    system_failed integer not null -- 1: the system failed under load
) strict;

-- The load of a trial, or one run of a phase or probe of a search, also if it does not count.
create table run (
    id integer primary key,
    trial integer not null references trial,
    name text not null, -- `load`, `run-1`, `probe-1`, …
    phase text not null, -- `load`, the name of the phase, or `probe`
    number integer, -- null: the load
    discarded integer not null, -- 1: the scenario discards it
    agreed real, -- [s] the agreed instant, at which all clients begin, after 1970 on the controller's clock
    warmup_seconds real not null, -- [s] from the agreed instant to the measured window
    measured_seconds real, -- [s] the measured window of the client that took longest
    operations integer, -- operations of all clients
    records integer, -- records of all clients
    server_cpu_seconds real, -- [s] processor time of all servers in the window
    client_cpu_seconds real, -- [s] processor time of all clients in the window
    start_skew_ms real, -- [ms] between the first and the last client to begin
    end_skew_ms real, -- [ms] between the first and the last client to end
    unique (trial, name)
) strict;

-- A client in a run.
create table client (
    id integer primary key,
    run integer not null references run,
    host text not null, -- name in the inventory
    state text, -- `ended`, `failed`, `vanished` or `stopped`
    reason text, -- why it did not end by itself; null: it did, or not known
    start_ms real, -- [ms] its start after the agreed instant
    end_ms real, -- [ms] its end after that of the first client to end
    offset_ms real, -- [ms] its host's clock against the controller's
    offset_error_ms real, -- [ms] half of the best round trip
    threads integer,
    target real, -- [1/s] operations asked of it; 0: as fast as possible
    measured_seconds real, -- [s] its measured window
    operations integer,
    records integer,
    failed_operations integer,
    cpu_seconds real, -- [s] its processor time in the window
    unique (run, host)
) strict;

-- The servers on a host in a run.
create table node (
    run integer not null references run,
    host text not null, -- name in the inventory
    state text, -- `ran`, `ended` or `vanished`
    reason text, -- why it did not run to the end; null: it did, or not known
    cpu_seconds real, -- [s] processor time of its servers in the window
    memory_mb real, -- [MB] resident memory of its servers
    primary key (run, host)
) strict, without rowid;

-- An operation type in a run: of one client, or of all clients together.
create table operation (
    run integer not null references run,
    client integer references client, -- null: all clients together
    operation text not null, -- `READ`, `READ-FAILED`, `Intended-READ`, … as in a row of summary.json
    operations integer, -- operations in the result lines
    records integer, -- records that succeeded; null also of types that have none
    returns text not null, -- status → records, as a JSON object
    log_mean_us real, -- [µs] mean in the result lines
    log_max_us real, -- [µs] maximum in the result lines
    histogram blob, -- all latencies: HdrHistogram's compressed V2 encoding, whose ratio turns a value into ms; null: no log
    count integer, -- operations in the histogram; null: there is none
    mean_ms real, -- [ms] mean of the histogram; null: there is none
    PERCENTILES
    max_ms real, -- [ms] maximum of the histogram; null: there is none
    unique (run, client, operation)
) strict;

-- A second of the measured window of a run: an operation type, or `OVERALL`, of all clients.
create table second (
    run integer not null references run,
    second integer not null, -- [s] its begin after that of the window
    at real not null, -- [s] its begin after the agreed instant, as in the other tables
    operation text not null, -- `READ`, `UPDATE`, …; `OVERALL`: all, also of seconds without any operation
    whole integer not null, -- 1: all clients measured in the whole second; 0: the window ended in it, or before
    succeeded integer not null, -- operations answered in it that succeeded
    not_found integer not null, -- operations that found nothing
    failed integer not null, -- operations that failed
    p50_ms real, -- [ms] median of those that succeeded, up to 0.8 % too high; null: other types, or fewer than 10 beyond it
    p99_ms real, -- [ms] their p99, in the same way
    max_ms real, -- [ms] their maximum, in the same way; null: other types, or no operation
    latency_seconds integer, -- [s] time that these three cover: 1, or 2, 4, … in long runs; null: other types, or no operation
    primary key (run, operation, second)
) strict, without rowid;

-- The phase of a trial on a host, over the measured windows of its runs that count.
create table host (
    trial integer not null references trial,
    phase text not null, -- name of the phase; `load`
    host text not null, -- name in the inventory
    cpus integer, -- its processors
    memory_bytes integer, -- [B] its memory
    covered_seconds real not null, -- [s] time in the windows that has samples
    primary key (trial, phase, host)
) strict, without rowid;

-- A figure of a host, of all of its devices together or of one, over these windows.
create table host_figure (
    trial integer not null references trial,
    phase text not null, -- name of the phase; `load`
    host text not null, -- name in the inventory
    device text, -- disk or network; null: the host
    figure text not null, -- a column of `host_second`
    mean real not null, -- mean by time
    maximum real not null, -- highest second
    unique (trial, phase, host, device, figure)
) strict;

-- A sample of a host, or of one of its disks or networks, in the load or a run that counts, about one each second.
create table host_second (
    run integer not null references run,
    host text not null, -- name in the inventory
    device text, -- disk or network; null: the host, with all of its disks and networks but `lo`
    at real not null, -- [s] its end after the agreed instant; also in the warm-up and behind the window
    seconds real not null, -- [s] its length
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
    disk_utilisation real, -- [0 to 1] share of the time with a request; of the host that of the busiest disk
    network_received_bytes_per_second real, -- [B/s]
    network_sent_bytes_per_second real, -- [B/s]
    other_cpu real, -- [0 to 1] part of user and system that other processes used
    processor_frequency real, -- [0 to 1] share of the highest frequency
    processor_celsius real -- [°C] the hottest processor
) strict;
create index host_second_of_run on host_second (run, host, at);

-- A figure of the servers' own statistics, which are kept after each run: there is none by second.
create table server_figure (
    trial integer not null references trial,
    phase text, -- name of the phase: growth of a counter in a run, or value after it; null: at the end of the trial
    host text, -- name in the inventory; null: all hosts together
    figure text not null, -- name in `ansible/systems/NAME/figures.yml`; its ending is the unit
    value real not null,
    unique (trial, phase, host, figure)
) strict;

-- Something that lasted, or happened at one time.
create table span (
    trial integer not null references trial,
    run integer references run, -- null: the event is of no run that left results
    kind text not null, -- `warm-up`, `window`, `GC pause`, `compaction`, `flush`, `fault`, `event`
    host text, -- name in the inventory; null: all
    process text, -- which of several JVMs on a host, such as `datanode`; null: other kinds, or there is one
    what text, -- the fault, or a sentence of an event; null: other kinds
    begin real, -- [s] after the agreed instant; null: before it
    end real, -- [s] after the agreed instant, `begin` of what did not last; null: it did not end, or was before the instant
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

-- What a fault cost until the next one, or to the end of the window: [a run with faults](summary-json.md#a-run-with-faults).
create table fault_cost (
    run integer not null references run,
    kind text not null, -- such as `kill`
    target text not null, -- such as `node2`
    hosts text not null, -- names in the inventory, as a JSON list
    begin real, -- [s] after the agreed instant, on its first host
    end real, -- [s] after the agreed instant: when what ended it began, on its last host; null: nothing did
    seconds real, -- [s] time that was watched
    before_ops_per_second real, -- [1/s] successful operations before the first fault; null: none
    zero_seconds integer not null, -- [s] seconds without any success
    low_seconds integer, -- [s] seconds below half of the rate before; null: there was no rate
    recovered integer, -- 1: the rate was full again; null: there was no rate before
    recovery_seconds real, -- [s] from the fault to then; null: it did not recover
    restored integer, -- 1: the rate was full again after the fault ended; null also: it did not end in the window
    restore_seconds real, -- [s] from the end of the fault to then; null: it was not restored
    worst_p99_ms real, -- [ms] p99 from the intended start, of the worst second; null: no target rate
    worst_p99_second real -- [s] the worst second, after the begin of the window; null: no target rate
) strict;

-- Records that a trial lost or read wrongly: the [accounts](summary-json.md#accounting) of its acknowledged writes.
create table accounting (
    trial integer primary key references trial,
    sample integer, -- the clients account for one of this many records
    acknowledged integer, -- writes that were acknowledged
    maybe integer, -- writes that failed, and may have been applied
    reads integer, -- reads that could be judged
    unknown_reads integer, -- reads of records of another client, or not in the sample
    stale_reads integer, -- reads that did not see a write acknowledged before
    unwritten_reads integer, -- reads of what was never written
    corrupt_reads integer, -- reads of damaged records
    keys integer, -- records that were read back after the runs
    lost integer, -- those that were older than the last acknowledged write
    missing integer, -- those that were not there
    unwritten integer, -- those that held what was never written
    corrupt integer, -- those that were damaged
    unreadable integer, -- records that could not be read back
    read_back integer not null -- 1: every client has read its records back
) strict;

-- A [search](summary-json.md#a-search) for the highest rate that holds a bound. Rates are operations of all clients.
create table search (
    trial integer primary key references trial,
    slo text not null, -- the bounds, such as `p99<10ms`
    closed_loop real, -- [1/s] mean of the runs before it, which had no target rate
    maximum real, -- [1/s] the result: the highest rate that held, below one that did not; null: only bounds are known
    held real, -- [1/s] the highest rate that held, below all that did not; null: none held
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

-- The progress of a load that its logs tell.
create table load (
    trial integer primary key references trial,
    rows integer not null, -- records inserted
    tenths text not null, -- [s] when 10 %, 20 %, … 100 % of them were inserted, as a JSON list
    slowdown real -- last tenth divided by the first one
) strict;

-- A second of a load, and its end.
create table load_second (
    trial integer not null references trial,
    second real not null, -- [s] after the begin of the load
    rows integer not null, -- records inserted up to then
    primary key (trial, second)
) strict, without rowid;

-- A condition of a trial; one without a row is not known.
create table condition (
    trial integer not null references trial,
    phase text, -- name of the phase; null: the same in all phases
    name text not null, -- as in the conditions of summary.json
    value any not null, -- number or text; 1 and 0 for yes and no
    unit text, -- null: a text, a count or a share
    measured integer not null, -- 1: measured, and may differ from round to round; 0: stated
    unique (trial, phase, name)
) strict;

-- Something that decides, or puts in doubt, whether figures count.
create table run_check (
    experiment integer not null references experiment,
    trial integer references trial, -- null: the whole experiment
    run integer references run, -- null: the whole trial
    name text not null, -- `status`, `run`, `deviation`, `note`, `collapse`, `level`, `warm-up`, `equal conditions`, `evidence`
    value any, -- of `equal conditions` the value of the trial; null: others
    verdict text not null, -- the status of the trial; `invalid`, `unequal`, `warning` or `note`
    reason text -- a sentence; of `equal conditions` the condition; null: the trial is `ok`
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
    value any not null -- number; of a ratio a JSON list
) strict;

-- A line of the results: an operation type of a phase of a trial, with all [metrics of a row](summary-json.md#a-row) as columns.
create table row (
    trial integer not null references trial,
    METRICS
    unique (trial, phase, operation, discarded)
) strict;

-- The runs that count. What they did is between `window_begin` and `window_end` on the axis of `second.at`.
create view counted_run as
select experiment.name as experiment, system, point, round, phase, number, run.id as run, trial.id as trial,
    warmup_seconds as window_begin, warmup_seconds + measured_seconds as window_end
from run join trial on trial.id = run.trial join experiment on experiment.id = trial.experiment
where trial.status = 'ok' and not discarded and phase <> 'probe' and (phase <> 'load' or load_is_measured);

-- The rows that count, once for all rounds together.
create view counted_row as
select experiment.name as experiment, system, point, row.*
from row join trial on trial.id = row.trial join experiment on experiment.id = trial.experiment
where trial.status = 'ok' and not discarded and round is null and (phase <> 'load' or load_is_measured);
