"""Properties of the ScyllaDB binding, in addition to those of the Cassandra binding."""

from dohyo.scenario.property_types import Boolean, Property

# fmt: off
PROPERTIES = [
    Property("scylla.shardawareness", Boolean(), default="true",
             about="true: a connection selects its core through the server's shard-aware port; false: the core is"
             " random"),
]
