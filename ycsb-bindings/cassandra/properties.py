"""Properties of the Cassandra binding, and of ScyllaDB's, which is the same one."""

from dohyo.scenario.property_types import Boolean, Choice, Property, Refused, Whole

# fmt: off
PROPERTIES = [
    Property("cassandra.batchmode", Choice("async", "unlogged", "logged"), default="async",
             about="async: a batch of writes is one statement per record, all in flight at once; unlogged, logged:"
             " it is one CQL batch"),
    Property("cassandra.batchread", Choice("async", "in"), default="async",
             never={"in": {"keycolumns": "IN asks for every combination of the columns' values, not for the batch's"
                           " records; use cassandra.batchread=async"}},
             about="async: a batch of reads is one statement per record, all in flight at once; in: it is one IN"
             " query"),
    Property("cassandra.statements", Choice("prepared", "text"), default="prepared",
             about="prepared: the server parses a statement once; text: it parses each request, which goes to all"
             " nodes in turn because the driver does not know the record"),
    Property("cassandra.tokenaware", Boolean(), default="true",
             about="true: a request goes to a node with a copy of its record (a batch: of its first record); false:"
             " to all nodes in turn"),
    Property("cassandra.eventloops", Whole(1, 1024),
             about="threads that drive the connections; without it, one per processor of the client's host, less one"),
    Property("cassandra.coreconnections", Whole(1, 1024),
             about="connections per host that are opened at the start; without it, the event loops divided by the"
             " hosts, rounded up"),
    Property("cassandra.maxconnections", Whole(1, 1024),
             about="largest number of connections per host; without it, cassandra.coreconnections"),
    Property("cassandra.connecttimeoutmillis", Whole(1, 86_400_000), about="milliseconds to connect"),
    Property("cassandra.readtimeoutmillis", Whole(1, 86_400_000),
             about="milliseconds to wait for the answer to one attempt; without it, operationtimeout divided by the"
             " number of attempts"),
    Property("hosts",
             Refused("Dohyo names the servers that it has started; for your servers: --attach"
                     " cassandra=HOST,HOST:PORT (or scylla=…)"), about="Cassandra's hosts"),
    Property("port",
             Refused("Dohyo chooses the port; for your servers: --attach cassandra=HOST,HOST:PORT (or scylla=…)"),
             about="Cassandra's port"),
    Property("cassandra.keyspace", Refused("Dohyo creates the keyspace, also in attached servers"), about="keyspace"),
    Property("cassandra.username",
             Refused("Dohyo makes the user, see cassandra_authentication; for your servers: in the file of"
                     " --attach-secrets"), about="user name"),
    Property("cassandra.password",
             Refused("it would be in the evidence, see cassandra_authentication; for your servers: in the file of"
                     " --attach-secrets"), about="password"),
    Property("cassandra.ca",
             Refused("Dohyo makes the certificates, see cassandra_tls; for your servers: in the file of"
                     " --attach-secrets"),
             about="certificate of the authority to trust, as X.509 in Base64 on one line"),
    Property("cassandra.localdc",
             Refused("Dohyo names the data center of its servers; for your servers: in the file of --attach-secrets"),
             about="data center"),
    Property("cassandra.readconsistencylevel", Refused("it follows from read_acks, equally for all systems"),
             about="consistency level of reads"),
    Property("cassandra.writeconsistencylevel", Refused("it follows from write_acks, equally for all systems"),
             about="consistency level of writes"),
    Property("cassandra.tracing", Refused("tracing would slow one system only"), about="tracing"),
    Property("cassandra.useSSL",
             Refused("it follows from cassandra_tls; for your servers: in the file of --attach-secrets"),
             about="encryption"),
]
