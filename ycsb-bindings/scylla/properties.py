"""Properties of the ScyllaDB binding, which also has those of the Cassandra binding."""

from dohyo.scenario.property_types import Boolean, Property

# fmt: off
PROPERTIES = [
    Property("scylla.shardawareness", Boolean(), default="true",
             about="true: a connection is opened to the core that it is for, through the server's shard-aware port;"
             " false: to a core chosen by chance"),
]
