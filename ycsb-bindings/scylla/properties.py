"""Properties of the ScyllaDB binding, which also has the properties of the Cassandra binding."""

from dohyo.scenario.property_types import Boolean, Property

# fmt: off
PROPERTIES = [
    Property("scylla.shardawareness", Boolean(), default="true",
             about="true: a connection is opened to its own core through the server's shard-aware port; false: the core"
             " is random"),
]
