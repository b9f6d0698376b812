"""Properties of the Cassandra binding, which the ScyllaDB binding shares."""

from dohyo.scenario.property_types import Boolean, Choice, Property, Refused, Whole

# fmt: off
PROPERTIES = [
    Property("cassandra.batchmode", Choice("async", "unlogged", "logged"), default="async",
             about="async: a batch of writes is one statement per record, all in flight at once; unlogged, logged: a"
             " batch of writes is one CQL batch"),
    Property("cassandra.batchread", Choice("async", "in"), default="async",
             never={"in": {"keycolumns": "IN reads every combination of the columns' values, not the batch's"
                           " records; use cassandra.batchread=async"}},
             about="async: a batch of reads is one statement per record, all in flight at once; in: a batch of reads is"
             " one IN query"),
    Property("cassandra.statements", Choice("prepared", "text"), default="prepared",
             about="prepared: the server parses a statement once; text: the server parses each request, and requests go"
             " to all nodes in turn, because the driver cannot tell which node has the record"),
    Property("cassandra.tokenaware", Boolean(), default="true",
             about="true: a request goes to a node with a copy of its record (for a batch: its first record); false:"
             " requests go to all nodes in turn"),
    Property("cassandra.eventloops", Whole(1, 1024),
             about="threads that serve the connections; default: number of processors of the client's host minus 1"),
    Property("cassandra.coreconnections", Whole(1, 1024),
             about="connections per host that are opened at the start; default: the number of event loops divided by"
             " the number of hosts, rounded up"),
    Property("cassandra.maxconnections", Whole(1, 1024),
             about="maximum number of connections per host; default: cassandra.coreconnections"),
    Property("cassandra.connecttimeoutmillis", Whole(1, 86_400_000), about="milliseconds to connect"),
    Property("cassandra.readtimeoutmillis", Whole(1, 86_400_000),
             about="milliseconds to wait for the answer to one attempt; default: operationtimeout divided by the"
             " number of attempts"),
    Property("hosts",
             Refused("Dohyo sets the addresses of its servers; for your servers, use --attach"
                     " cassandra=HOST,HOST:PORT (or scylla=…)"), about="Cassandra's hosts"),
    Property("port",
             Refused("Dohyo chooses the port; for your servers, use --attach cassandra=HOST,HOST:PORT (or scylla=…)"),
             about="Cassandra's port"),
    Property("cassandra.keyspace", Refused("Dohyo creates the keyspace, also on attached servers"), about="keyspace"),
    Property("cassandra.username",
             Refused("Dohyo creates the user, see cassandra_authentication; for your servers, use the file of"
                     " --attach-secrets"), about="user name"),
    Property("cassandra.password",
             Refused("passwords must not become evidence, see cassandra_authentication; for your servers, use the file"
                     " of --attach-secrets"), about="password"),
    Property("cassandra.ca",
             Refused("Dohyo creates the certificates, see cassandra_tls; for your servers, use the file of"
                     " --attach-secrets"),
             about="certificate of the authority to trust, as X.509 in Base64 on one line"),
    Property("cassandra.localdc",
             Refused("Dohyo sets the data center of its servers; for your servers, use the file of --attach-secrets"),
             about="data center"),
    Property("cassandra.readconsistencylevel", Refused("read_acks sets it for all systems"),
             about="consistency level of reads"),
    Property("cassandra.writeconsistencylevel", Refused("write_acks sets it for all systems"),
             about="consistency level of writes"),
    Property("cassandra.tracing", Refused("tracing would slow down only one system"), about="tracing"),
    Property("cassandra.useSSL",
             Refused("it follows from cassandra_tls; for your servers, use the file of --attach-secrets"),
             about="encryption"),
]
