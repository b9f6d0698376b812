"""Properties of the Aerospike binding."""

from dohyo.scenario.property_types import Boolean, Property, Refused, Text, Whole

# fmt: off
PROPERTIES = [
    Property("aerospike.layout", Text(), default="bins", fixed="all phases use the records of the load",
             names={"bins": (15, "the name of an Aerospike bin has at most 15 characters; use a"
                             " shorter one, leave out aerospike, or set aerospike.layout=packed=10")},
             about="bins: each field is a bin; packed=N: about N records are packed into one record of Aerospike"
             " (docs/aerospike.md)"),
    Property("aerospike.sockettimeout", Whole(1, 86_400_000),
             about="milliseconds for one attempt; default: operationtimeout divided by the number of attempts"),
    Property("aerospike.eventloops", Whole(1, 1024),
             about="threads that serve the connections of batches, scans and runs with inflight above 1; default:"
             " number of processors of the client's host minus 1"),
    Property("aerospike.maxconnections", Whole(1, 100_000),
             about="maximum number of connections per node, at least 5 per event loop; default: 16 per event loop, at"
             " least 128. Further commands wait in the client until they time out"),
    Property("aerospike.inline", Boolean(), fixed="the servers need it when they start",
             about="true: the server's thread that receives a batch executes it, record by record; default: true, but"
             " false with aerospike_storage=device"),
    Property("aerospike.hosts",
             Refused("Dohyo sets the addresses of its servers; for your servers, use --attach aerospike=HOST:PORT"),
             about="Aerospike's hosts"),
    Property("aerospike.port", Refused("Dohyo chooses the port; for your servers, use --attach aerospike=HOST:PORT"),
             about="Aerospike's port"),
    Property("aerospike.user",
             Refused("Dohyo creates the account, see aerospike_authentication; for your servers, use the file of"
                     " --attach-secrets"), about="user name"),
    Property("aerospike.password",
             Refused("Dohyo creates the account, see aerospike_authentication; for your servers, use the file of"
                     " --attach-secrets"), about="password"),
    Property("aerospike.tlsname",
             Refused("aerospike_tls_name sets it for servers and clients; for your servers, use the file of"
                     " --attach-secrets"), about="name in the servers' certificates"),
    Property("aerospike.tlsca",
             Refused("the variable aerospike_tls_ca names it; for your servers, use the file of --attach-secrets"),
             about="PEM file with the authorities to trust"),
    Property("aerospike.namespace",
             Refused("aerospike_namespace sets it for servers and clients; for your servers, use --attach"
                     " aerospike=HOST:PORT/NAMESPACE"), about="namespace"),
    Property("aerospike.commitlevel", Refused("write_acks sets it for all systems"),
             about="copies (MASTER or ALL) that must acknowledge a write"),
    Property("aerospike.screadmode",
             Refused("a run reads with SESSION, and verify=acknowledged reads back with LINEARIZE"),
             about="read mode, SESSION or LINEARIZE, in a namespace with strong-consistency"),
    Property("aerospike.readmode", Refused("read_acks sets it for all systems"),
             about="copies (ONE or ALL) that a read requests while partitions migrate"),
]
