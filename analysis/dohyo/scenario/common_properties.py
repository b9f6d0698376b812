"""Properties that a scenario may contain, by group.

Properties of bindings are in ycsb-bindings/*/properties.py. The variables of a system (cassandra_heap, …) are options
of its class in ansible/systems/.
"""

from functools import partial

from dohyo.scenario.property_types import (
    BOTH,
    CLIENT,
    DOHYO,
    STOCK,
    Boolean,
    Bounds,
    Choice,
    Columns,
    Count,
    DataSize,
    Duration,
    ExistingFile,
    FaultList,
    Identifier,
    Memory,
    Names,
    Number,
    Percent,
    Property,
    Refused,
    Size,
    Text,
    Whole,
)

_DAY = 24 * 3600
_YEAR = 365 * _DAY
# Maximum of an int in Java, and half the maximum of a long.
_INT = 2**31 - 1
_LONG = 2**62 - 1

# Constructors of the properties in a group, with common defaults that an entry can override.
_trial = partial(Property, fixed="it applies to all phases of a trial")
_host = partial(Property, reader=DOHYO, matrix=False, fixed="it describes the hosts")
_condition = partial(Property, reader=DOHYO, fixed="servers start and tables are created with this value")
_search = partial(Property, reader=DOHYO, fixed="a search needs a trial with a single phase")
_mix = partial(Property, load=False)
_record = partial(Property, fixed="all phases use the records of the load")
_output = partial(Property, output=True)
_stock = partial(Property, reader=STOCK, matrix=False, fixed="only the stock client reads it")

# The formatter would put each argument on a separate line.
# fmt: off
GROUPS = {
    "Experiment": [
        _trial("systems", Names(), DOHYO, default="all", matrix=False,
               about="systems to compare, measured in this order; all: every system except those that must be named"
               " (mysql-myisam, postgresql)"),
        _trial("repeats", Whole(1, 1000), DOHYO, default="1", matrix=False,
               about="number of times that a trial repeats its phases after one load"),
        _trial("phases", Names(), DOHYO, default="run", matrix=False,
               about="runs of a trial after its load, in order. update and read have their own mixes; other names"
               " have the scenario's mix; PHASE.key=value applies to one phase only. insert as the first name: the"
               " load is also measured; max, equal: as fast as possible, then all systems at the same rate; max, own:"
               " as fast as possible, then each system at a share of its own rate (docs/scenarios.md)"),
        _trial("equal.share", Percent(1, 100), DOHYO, default="70%",
               about="with phases=max,equal: rate of the phase equal, as a share of the slowest system's rate in the"
               " phase max of round 1; equal.target=N sets the rate directly, in operations per second"
               " (docs/scenarios.md#at-equal-rate)"),
        _trial("own.share", Percent(1, 100), DOHYO, default="60%",
               about="with phases=max,own: rate of the phase own, as a share of the system's rate in the phase max of"
               " the same trial (docs/scenarios.md#at-a-share-of-its-own-maximum)"),
        _trial("discard", Whole(0, 999), DOHYO, default="0", matrix=False,
               about="number of initial repeats that are measured and kept but do not count; less than repeats"),
        _trial("rounds", Whole(1, 1000), DOHYO, default="1", matrix=False,
               about="number of times that all trials are measured, in alternating order: A B, B A; with precision,"
               " this is the minimum"),
        _trial("interleave", Choice("off", "on"), DOHYO, default="off", matrix=False,
               about="on: the servers of all systems run at the same time, and every repeat measures one window of"
               " each system, one after the other. Slow changes of the hosts then affect all systems alike"
               " (docs/interleaving.md)"),
        _trial("precision", Percent(0.1, 50, "decided", "none"), DOHYO, default="none", matrix=False,
               about="goal that further rounds must reach. decided: of every two neighbours in the ranking, one is"
               " faster or both are alike; a percentage: the interval of every system's rate reaches at most this"
               " share above the rate; none: there are no further rounds (docs/scenarios.md)"),
        _trial("alike", Percent(1, 100), DOHYO, default="15%", matrix=False,
               about="two neighbours in the ranking are alike if the whole interval of their ratio lies between 1 /"
               " (1 + alike) and 1 + alike (docs/method.md#decided)"),
        _trial("rounds.max", Whole(1, 1000), DOHYO, default="10", matrix=False,
               about="with precision: the maximum number of rounds"),
        _trial("budget", Duration(1, _YEAR, "none"), DOHYO, default="none", matrix=False,
               about="with precision: a round begins only if it will end within this time, counted from the first"
               " trial; the first rounds are always measured"),
        _trial("matrix.*", Text(), DOHYO, matrix=False,
               about="matrix.KEY=a,b,c: every system is measured at every combination of the values"
               " (docs/scenarios.md)"),
        _trial("settle", Choice("load", "phases"), DOHYO, default="load",
               about="when the servers flush and compact: only after the load, or also before every phase"),
        _trial("settle.flush", Boolean(), DOHYO, default="true",
               about="false: settling forces no flush and no compaction, so that reads come from the servers' memory"
               " (memstores, memtables); it only waits for work that has begun (docs/scenarios.md)"),
        _trial("settle.cache", Choice("keep", "drop"), DOHYO, default="keep",
               about="drop: settling empties the operating system's page cache (which needs root) and those caches"
               " of the server that can be emptied while it runs"),
        _trial("preconditioning", Count(0, _LONG), DOHYO, default="0",
               about="number of updates that are written after the load has settled and before the runs, in batches"
               " like those of the load. The runs then begin on used servers, with several sorted files, a used log and"
               " blocks to clean up (docs/method.md#preconditioning)"),
        _trial("reuse", Choice("data", "none"), DOHYO, default="none", matrix=False,
               about="data: trials with the same load (rounds, points of the matrix) share it, and each trial starts"
               " its servers on a copy of the settled data; none: every trial has its own load"
               " (docs/scenarios.md#one-load-for-several-trials)"),
        _trial("duration", Duration(0, _YEAR), DOHYO, default="0", load=False, fixed="",
               about="length of a run's measured window; 0: the run ends after operationcount operations"),
        _trial("warmuptime", Duration(0, _DAY), CLIENT, default="0", load=False, fixed="",
               about="time before the measured window in which operations run without being measured; with"
               " warmup=steady, the maximum of this time"),
        _trial("warmup", Choice("fixed", "steady"), CLIENT, default="fixed", load=False, fixed="",
               about="fixed: the warm-up lasts warmuptime; steady: it lasts at least 5 s and ends when the"
               " throughput of all clients together is steady and the JIT compilers are idle"
               " (docs/method.md#warm-up)"),
        _trial("canary", Boolean(), DOHYO, default="true", matrix=False,
               about="true: all hosts are measured for a few seconds before each trial, to see whether they perform"
               " the same in all trials (docs/method.md)"),
        _trial("scale", Number(1e-09, 1), DOHYO, default="1",
               about="share of recordcount and operationcount that is loaded and executed, for trying out a large"
               " scenario; the summary reports it"),
        _trial("published", Names(), DOHYO, matrix=False,
               about="files in workloads/published/ whose figures are shown below the results for reference; without"
               " it, the file with the scenario's name, if it exists"),
    ],
    "Hosts that do not exist yet": [
        _host("host_memory", Size(),
              about="memory of each database host, for --plan and datasize=4*ram; by default, the inventory's"
              " variable `host_memory`, or the memory of this machine"),
        _host("host_disk", Size(),
              about="disk space for data on each database host, for --plan; by default, the inventory's variable"
              " `host_disk`, or the free space of this machine"),
        _host("host_count", Whole(1, 100_000),
              about="number of database hosts for --plan; by default the number in the inventory"),
    ],
    "Conditions": [
        _condition("replication", Whole(1, 100), default="1", about="number of copies of every record"),
        _condition("write_acks", Choice("one", "quorum", "all"), default="all",
                   about="number of copies that must have stored a write before it is acknowledged"),
        _condition("read_acks", Choice("one", "quorum", "all"), default="one",
                   about="number of copies that must answer a read"),
        _condition("durability", Choice("memory", "disk"), default="memory",
                   about="where a write is stored when it is acknowledged: in the memory of the servers, which"
                   " write the log in the background, or on disk"),
        _condition("compression", Choice("none", "lz4", "zstd", "gz"), default="none",
                   about="compression of the data on disk"),
        _condition("profile", Choice("vanilla", "tuned"), default="vanilla",
                   about="settings of the servers: vanilla is the package's configuration; tuned follows the"
                   " production guide of the vendor or project (docs/conditions.md#profiles)"),
        _condition("strict_conditions", Boolean(), default="false", matrix=False,
                   about="true: a system that does not meet these conditions is not measured; false: it is measured"
                   " and marked"),
    ],
    "Load of the clients": [
        Property("threadcount", Whole(1, 100_000), BOTH, default="1",
                 about="number of logical clients per client host; each sends its next operation when the previous one"
                 " has been answered (docs/conditions.md#connections)"),
        Property("threadcount.of", Choice("each", "all"), CLIENT, default="each",
                 about="each: threadcount applies to each client host; all: to all client hosts together, which"
                 " share it evenly, so it must be a multiple of their number"),
        Property("target", Number(0, 1_000_000_000), BOTH, default="0",
                 about="operations per second, divided among all clients; 0: as fast as possible. Stock YCSB applies"
                 " the rate to each process"),
        Property("arrival", Choice("uniform", "poisson"), CLIENT, default="uniform", same=True,
                 about="when operations are due if there is a target rate: at even intervals, or at the random times"
                 " of a Poisson process of that rate (docs/method.md#random-arrivals)"),
        Property("operationcount", Count(0, _LONG), BOTH, default="0", load=False,
                 about="number of operations of a run; applies only if duration is 0"
                 " (docs/scenarios.md#what-ends-a-run)"),
        Property("passes", Whole(0, 1000), CLIENT, default="0", load=False,
                 about="with requestdistribution=ranges: a run ends when it has requested every record this many"
                 " times; operationcount is then about recordcount × passes / batchsize, because the last batch of a"
                 " thread's range may be smaller. 0: duration or operationcount ends the run"),
        Property("maxexecutiontime", Duration(0, _YEAR), BOTH, default="0", load=False,
                 about="YCSB's name for duration; a scenario that sets it cannot set duration or operationcount"
                 " (docs/scenarios.md#what-ends-a-run)"),
        Property("batchsize", Whole(1, 100_000), CLIENT, default="1", same=True, about="records per operation"),
        Property("inflight", Whole(1, 100_000), CLIENT, default="1", about="operations in flight per logical client"),
        Property("client.loop", Choice("events", "threads"), CLIENT,
                 about="how logical clients run: on the driver's threads, or each on its own thread"
                 " (docs/conditions.md#connections); by default, the way that is faster for the system"),
        Property("readbeforewrite", Boolean(), CLIENT, default="false", load=False,
                 about="true: an update first reads the whole record"),
        Property("readbeforewrite.missing", Choice("skip", "write"), CLIENT, default="skip", same=True, load=False,
                 about="what an update does if its read did not find the record. skip: nothing is written, so that"
                 " all systems do the same and no record is added; write: the update is sent anyway, which inserts the"
                 " record in Cassandra, ScyllaDB and HBase. Either way, the record counts as not found"),
        Property("client_heap", Memory(), DOHYO, default="512m",
                 fixed="the memory is reserved before the servers start", about="Java heap of a client process"),
        Property("maxerrorrate", Number(0, 1), CLIENT, default="0.001",
                 about="maximum share of requested records that may fail; above it, a run is invalid (docs/method.md)"),
        Property("maxnotfoundrate", Number(0, 1), DOHYO, default="0.001",
                 about="maximum share of records that are not found; above it, a run is invalid"),
        Property("max.other.cpu", Percent(0, 100), DOHYO,
                 about="share of a host's processors that other processes or the hypervisor may use during a run;"
                 " above it, the run does not count and its repeat is measured again, at most twice in a trial."
                 " The default is 25%, or 5% with strict_conditions (docs/method.md#other-processes)"),
        Property("retries", Whole(0, 1000), CLIENT, default="0",
                 about="number of times that a binding or its driver may send a failed request again, the same for"
                 " all systems. For a load before runs the default is 15 (insert.retries), with 16 times the"
                 " operationtimeout of the runs. A note of the trial reports how often this happened"
                 " (docs/conditions.md#requests-that-are-sent-again)"),
        Property("core_workload_insertion_retry_limit", Whole(0, 1_000_000), BOTH, default="0",
                 about="number of times that our client may send a failed insert of the load again, in addition to"
                 " retries; a note of the trial reports how often this happened"),
        Property("seed", Whole(0, 2**53 - 1), CLIENT,
                 about="seed of the random operations, records and values; by default, each client chooses one at"
                 " random and writes it to its client.json (docs/method.md#replaying-a-run)"),
        Property("operationtimeout", Whole(1, 86_400_000), CLIENT, default="10000",
                 about="milliseconds after which an operation counts as failed, regardless of the driver's timeouts"),
        Property("stalltime", Duration(1, _DAY), CLIENT, default="60",
                 about="a run without a single success for this time is aborted: the system has failed. With a"
                 " target rate, it is aborted only after ten operations of a client were due (thirty with"
                 " arrival=poisson)"),
    ],
    "Faults": [
        Property("faults", FaultList(), DOHYO, default="none", load=False,
                 about="faults to inject in the measured window, such as kill(node2)@60s, start(node2)@90s; with"
                 " faults, no run is invalid because of errors or records that were not found (docs/faults.md)"),
    ],
    "Search for the highest rate": [
        _search("search", Choice("none", "max"), default="none",
                about="max: after its runs, each trial searches for the highest rate at which the bounds of slo"
                " hold. The runs have a single phase and no target rate (docs/knee.md)"),
        _search("slo", Bounds(),
                about="bounds on latency percentiles, measured from the intended start; all must hold"),
        _search("search.probes", Whole(1, 50), default="10", about="maximum number of probes of a trial"),
        _search("search.duration", Duration(1, _YEAR),
                about="length of the measured window of each probe, after the usual warm-up; by default duration"),
        _search("search.precision", Number(0.01, 1), default="0.03",
                about="the search ends when the lowest rate that failed is at most this share above the highest rate"
                " that held"),
    ],
    "Mix of operations": [
        _mix("workload", Choice("site.ycsb.workloads.CoreWorkload", "dohyo.workload.RecordWorkload"), BOTH,
             default="site.ycsb.workloads.CoreWorkload", same=True,
             about="class of the workload; with either name, our client runs its own RecordWorkload, a CoreWorkload"
             " with batches and tables"),
        _mix("readproportion", Number(0, 1), BOTH, default="0.95", same=True,
             about="share of reads; the five proportions sum to 1"),
        _mix("updateproportion", Number(0, 1), BOTH, default="0.05", same=True, about="share of updates"),
        _mix("insertproportion", Number(0, 1), BOTH, default="0", same=True, about="share of inserts"),
        _mix("scanproportion", Number(0, 1), BOTH, default="0", same=True, about="share of scans"),
        _mix("readmodifywriteproportion", Number(0, 1), BOTH, default="0", same=True,
             about="share of read-modify-writes"),
        _mix("requestdistribution",
             Choice("uniform", "zipfian", "latest", "hotspot", "sequential", "exponential", "ranges", "next"), BOTH,
             default="uniform", same=True,
             about="which records are requested. ranges: every thread walks through the contiguous part of the"
             " records that it has loaded, in batches of neighbours, and starts over at its end. next: the key that"
             " the next insert would use; that record is never inserted"
             " (docs/time-series.md#one-key-after-the-other). Stock CoreWorkload refuses ranges and next"),
        _mix("hotspotdatafraction", Number(0, 1), BOTH, default="0.2", same=True,
             about="hotspot: share of the records that are hot"),
        _mix("hotspotopnfraction", Number(0, 1), BOTH, default="0.8", same=True,
             about="hotspot: share of the operations that go to hot records"),
        _mix("exponential.percentile", Number(0.001, 99.999), BOTH, default="95", same=True,
             about="exponential: percentage of the operations that stay within exponential.frac of the records"),
        _mix("exponential.frac", Number(1e-09, 1), BOTH, default="0.8571428571", same=True,
             about="exponential: share of the records that exponential.percentile refers to"),
        _mix("readallfields", Boolean(), BOTH, default="true", same=True,
             about="true: a read requests all fields; false: one field"),
        _mix("readallfieldsbyname", Boolean(), BOTH, default="false",
             about="true: all fields are requested by their names instead of a wildcard"),
        _mix("writeallfields", Boolean(), BOTH, default="false", same=True,
             about="true: an update writes all fields; false: one field"),
        _mix("minscanlength", Whole(1, _INT), BOTH, default="1", same=True,
             about="minimum number of records in a scan"),
        _mix("maxscanlength", Whole(1, _INT), BOTH, default="1000", same=True,
             about="maximum number of records in a scan"),
        _mix("scanlengthdistribution", Choice("uniform", "zipfian"), BOTH, default="uniform",
             about="distribution of scan lengths from minscanlength to maxscanlength"),
        _record("dataintegrity", Boolean(), BOTH, default="false",
                about="true: values are computed from the key, and every read checks them (docs/method.md)"),
        _record("verify", Choice("none", "acknowledged"), CLIENT, default="none",
                about="acknowledged: every acknowledged write is accounted for; reads are checked for stale records,"
                " and all records are read back after each run (docs/faults.md)"),
        _record("verify.keys", Count(1, 100_000_000), CLIENT, default="500000", load=False,
                about="maximum number of loaded records, and of inserted records, that a client accounts for; if"
                " there are more, it accounts for a sample chosen by hash"),
        Property("verify.timeout", Duration(1, _DAY), CLIENT, default="600", load=False,
                 about="maximum time in seconds for reading the records back after a run; a record that was not read by"
                 " then counts as unreadable"),
    ],
    "Records": [
        _record("recordcount", Count(1, _LONG), BOTH, same=True,
                about="number of records to load; every scenario has this property or datasize"),
        _record("datasize", DataSize(), DOHYO,
                about="total size of the records without copies and overhead, instead of recordcount, which becomes"
                " datasize / (fieldcount × fieldlength). 1 GB is 10^9 bytes; ram is the memory of all database hosts"
                " divided by replication; cache is the size of the smallest of the systems' read"
                " caches on all hosts together (docs/sizing.md)"),
        _record("fieldcount", Whole(1, 10000), BOTH, default="10", same=True, about="number of fields per record"),
        _record("fieldlength", Whole(1, 2**30), BOTH, default="100", same=True,
                about="length of a field in bytes; the maximum if lengths vary"),
        _record("minfieldlength", Whole(1, 2**30), BOTH, default="1",
                about="minimum length of a field in bytes, if lengths vary"),
        _record("fieldlengthdistribution", Choice("constant", "uniform", "zipfian", "histogram"), BOTH,
                default="constant", same=True, about="distribution of field lengths"),
        _record("fieldlengthhistogram", ExistingFile(), BOTH, default="hist.txt",
                about="file with the lengths for fieldlengthdistribution=histogram"),
        _record("fieldnameprefix", Identifier(), BOTH, default="field",
                about="fields are named with this prefix and a number from 0"),
        _record("valueentropy", Number(0, 8), CLIENT, default="6", same=True,
                about="bits of entropy per byte of a value, which limit what compression can save; up to 7, values"
                " are valid ASCII"),
        _record("insertorder", Choice("hashed", "ordered"), BOTH, default="hashed", same=True,
                about="hashed: keys are made from hashes of the record numbers; ordered: from the numbers themselves"),
        _record("keycolumns", Columns(), CLIENT, same=True,
                about="columns of the key, made from the record's number. Each column but the last states how many"
                " values it has. Types: int, bigint, text(N), timestamp. The first columns, in parentheses, are the"
                " partition key (docs/keys.md). Needs insertorder=ordered"),
        _record("partitions", Count(0, 1_000_000_000), DOHYO, default="0",
                about="above 0: a time series with this number of partitions; same as keycolumns=series bigint N,"
                " time timestamp (docs/time-series.md)"),
        _record("zeropadding", Whole(0, 1000), BOTH, default="1",
                about="number of digits to which key numbers are padded with zeros"),
        _record("insertstart", Count(0, _LONG), BOTH, default="0",
                about="number of the first record that is loaded and requested"),
        _record("insertcount", Count(1, _LONG), BOTH,
                about="number of records that are loaded and requested, beginning with insertstart; by default, all"
                " records up to recordcount. If less, set tablecount=1; new records are numbered from recordcount"),
        _record("tablecount", Whole(1, 10000), CLIENT, default="1",
                about="number of tables that the records are divided into"),
        _record("tables", Choice("shared", "client"), CLIENT, default="shared",
                about="tables that a client works on. shared: all of them; client: only its own share, so tablecount"
                " must be a multiple of the number of clients"),
        _record("keysalt", Choice("none", "crc32"), CLIENT, default="none", same=True,
                about="crc32: each key begins with two bytes of its CRC32, so that ordered keys are spread"),
    ],
    "Client output": [
        _output("measurement.interval", Choice("op", "intended", "both"), STOCK, default="op", matrix=False,
                about="op: latency from the actual start of an operation; intended: latency from the start that the"
                " target rate requires; both: both of them. With a target rate, our client always records both"),
        _output("hdrhistogram.percentiles", Text(), BOTH, default="50,95,99",
                about="percentiles in the client's result lines"),
        _output("status.interval", Whole(1, _DAY), BOTH, default="10", about="seconds between status lines"),
    ],
    "Only read by the stock client": [
        _stock("core_workload_insertion_retry_interval", Whole(0, _INT), default="3",
               about="seconds between two attempts of an insert"),
        _stock("core_workload_insertion_keep_going_on_error", Boolean(), default="false",
               about="true: a failed insert does not end the load"),
        _stock("measurementtype",
               Choice("hdrhistogram", "histogram", "hdrhistogram+histogram", "hdrhistogram+raw", "timeseries", "raw"),
               default="hdrhistogram", about="format in which latencies are recorded"),
        _stock("measurement.trackjvm", Boolean(), default="false", about="true: the client's JVM is also measured"),
        _stock("measurement.histogram.verbose", Boolean(), default="false",
               about="true: the histogram's buckets are printed"),
        _stock("measurement.raw.output_file", Text(), about="file for raw measurements"),
        _stock("measurement.raw.no_summary", Boolean(), default="false",
               about="true: raw measurements have no summary"),
        _stock("histogram.buckets", Whole(1, _INT), default="1000", about="number of buckets of one millisecond each"),
        _stock("timeseries.granularity", Whole(1, _INT), default="1000", about="milliseconds per point"),
        _stock("reportlatencyforeacherror", Boolean(), default="false",
               about="true: latencies are reported per kind of error"),
        _stock("latencytrackederrors", Text(), about="kinds of errors whose latencies are reported"),
        _stock("spin.sleep", Boolean(), default="false",
               about="true: a client waits for the target rate in a busy loop"),
        _stock("label", Text(), about="text in the status lines"),
        _stock("debug", Boolean(), default="false", about="true: bindings print verbose output"),
    ],
    "Set by Dohyo itself": [
        Property("db", Refused("the system determines the binding; set systems"), BOTH,
                 about="class of the binding"),
        Property("table", Refused("Dohyo creates usertable; set tablecount to use several tables"), BOTH, same=True,
                 about="name of the table"),
        Property("dotransactions", Refused("every trial consists of a load and its runs"), BOTH, same=True,
                 about="true: run; false: load"),
        Property("status", Refused("status lines are always kept"), BOTH, about="true: status lines are printed"),
        Property("exporter", Refused("the analysis reads the text export"), BOTH,
                 about="class that writes the results"),
        Property("exportfile", Refused("every phase has its own result.txt"), BOTH, about="file for the results"),
        Property("hdrhistogram.fileoutput", Refused("every phase keeps its histogram logs"), BOTH,
                 about="true: histogram logs are written"),
        Property("hdrhistogram.output.path", Refused("every phase has its own folder"), BOTH,
                 about="folder of the histogram logs"),
        Property("client.summary", Refused("every phase has its own client.json"), CLIENT,
                 about="file for the client's own summary"),
        Property("clients", Refused("it is the number of hosts in the inventory's client group"), CLIENT,
                 about="number of clients that divide records, keys of new records, and tables among themselves"),
        Property("clientnumber", Refused("the inventory determines it"), CLIENT,
                 about="number of this client among all clients, starting at 0"),
        Property("inserted", Refused("every run of a trial continues where the earlier ones ended"), CLIENT,
                 about="number of new keys that this client has used in earlier runs of the trial"),
        Property("verify.wait", Refused("Dohyo sets it for runs with faults"), CLIENT,
                 about="maximum time in seconds to wait, before the records are read back, until the servers are"
                 " ready again after faults"),
        Property("verify.run", Refused("Dohyo counts the runs of a trial"), CLIENT,
                 about="number of the run within its trial; values depend on it, and verify=acknowledged writes it"
                 " into the records"),
        Property("startgate", Refused("Dohyo uses it to start all clients at the same time"), CLIENT,
                 about="folder of the start gate"),
        Property("startgate.timeout", Refused("Dohyo sets it when it starts a client"), CLIENT,
                 about="seconds to wait at the start gate"),
    ],
    "Keys of stock bindings": [
        Property("as.host",
                 Refused("Dohyo sets the addresses of its servers; for your servers, use --attach aerospike=HOST:PORT"),
                 STOCK, about="Aerospike's host"),
        Property("as.port", Refused("Dohyo chooses the port; for your servers, use --attach aerospike=HOST:PORT"),
                 STOCK, about="Aerospike's port"),
        Property("as.namespace",
                 Refused("the variable aerospike_namespace sets it; for your servers, use --attach"
                         " aerospike=HOST:PORT/NAMESPACE"), STOCK, about="namespace"),
        Property("as.user",
                 Refused("Dohyo creates the account; for your servers, set aerospike.user in the"
                         " --attach-secrets file"), STOCK, about="user name"),
        Property("as.password",
                 Refused("Dohyo creates the account; for your servers, set aerospike.password in the"
                         " --attach-secrets file"), STOCK, about="password"),
        Property("as.*",
                 Refused("Dohyo has its own binding; set operationtimeout to limit an operation, and properties"
                         " aerospike.… for other settings"), STOCK, about="other settings of the binding"),
        Property("db.url",
                 Refused("Dohyo sets the address of its server; for your servers, use --attach"
                         " mysql-innodb=HOST:PORT or postgresql=HOST:PORT"), STOCK, about="JDBC URL of the database"),
        Property("db.user",
                 Refused("Dohyo creates the account; for your servers, set mysql.user or postgresql.user in the"
                         " --attach-secrets file"), STOCK, about="user name"),
        Property("db.passwd",
                 Refused("Dohyo creates the account; for your servers, set mysql.password or postgresql.password in the"
                         " --attach-secrets file"), STOCK, about="password"),
        Property("db.*",
                 Refused("the system determines driver and statements, and batchsize the batches; for your servers, use"
                         " --attach mysql-innodb=HOST:PORT or postgresql=HOST:PORT"), STOCK,
                 about="JDBC driver and batches"),
        Property("jdbc.*",
                 Refused("the system determines driver and statements, and batchsize the batches; for your servers, use"
                         " --attach mysql-innodb=HOST:PORT or postgresql=HOST:PORT"), STOCK,
                 about="JDBC fetch size, commits and batches"),
        Property("postgrenosql.*",
                 Refused("Dohyo sets the address of its server; for your servers, use --attach"
                         " postgresql=HOST:PORT, with postgresql.user and postgresql.password in the"
                         " --attach-secrets file"), STOCK, about="PostgreSQL's URL, user name and password"),
        Property("scylla.hosts",
                 Refused("Dohyo sets the addresses of its servers; for your servers, use --attach"
                         " scylla=HOST,HOST:PORT"), STOCK, about="ScyllaDB's hosts"),
        Property("scylla.port", Refused("Dohyo chooses the port; for your servers, use --attach scylla=HOST,HOST:PORT"),
                 STOCK, about="ScyllaDB's port"),
        Property("scylla.keyspace", Refused("Dohyo creates the keyspace, also on attached servers"), STOCK,
                 about="keyspace"),
        Property("scylla.local_dc",
                 Refused("Dohyo sets the data center of its servers; for your servers, set cassandra.localdc in the"
                         " --attach-secrets file"), STOCK, about="data center"),
        Property("scylla.username",
                 Refused("Dohyo creates the account; for your servers, set cassandra.username in the"
                         " --attach-secrets file"), STOCK, about="user name"),
        Property("scylla.password",
                 Refused("Dohyo creates the account; for your servers, set cassandra.password in the"
                         " --attach-secrets file"), STOCK, about="password"),
        Property("scylla.readconsistencylevel", Refused("read_acks sets it for all systems"), STOCK,
                 about="consistency level of reads"),
        Property("scylla.writeconsistencylevel", Refused("write_acks sets it for all systems"), STOCK,
                 about="consistency level of writes"),
        Property("zookeeper.znode.parent",
                 Refused("Dohyo sets it for its servers; for your servers, use --attach hbase=ZOOKEEPER:PORT:/ZNODE"),
                 STOCK, about="HBase's node in ZooKeeper"),
        Property("hbase.zookeeper.*",
                 Refused("Dohyo sets the addresses of its servers; for your servers, use --attach"
                         " hbase=ZOOKEEPER,ZOOKEEPER:PORT:/ZNODE"), STOCK, about="HBase's ZooKeeper"),
        Property("hbase.usepagefilter", Refused("a scan of Dohyo's binding always has a limit"), STOCK,
                 about="scans with a PageFilter"),
        Property("mongodb.*", Refused("Dohyo has no such system; see --list"), STOCK, about="MongoDB"),
        Property("redis.*", Refused("Dohyo has no such system; see --list"), STOCK, about="Redis"),
        Property("couchbase.*", Refused("Dohyo has no such system; see --list"), STOCK, about="Couchbase"),
        Property("es.*", Refused("Dohyo has no such system; see --list"), STOCK, about="Elasticsearch"),
    ],
}
