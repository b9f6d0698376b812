"""Properties of the PostgreSQL binding."""

from dohyo.scenario.property_types import Property, Refused, Whole

# fmt: off
PROPERTIES = [
    Property("postgresql.connections", Whole(1, 1000), fixed="the servers need it when they start",
             about="number of connections of each client thread for its operations in flight; default: inflight, but"
             " at most 32"),
    Property("postgresql.url",
             Refused("Dohyo sets the address of its server; for your servers, use --attach postgresql=HOST:PORT"),
             about="JDBC URL of the database, as in jdbc:postgresql://127.0.0.1:5432/ycsb"),
    Property("postgresql.user", Refused("Dohyo creates the account; for your servers, use the file of"
                                        " --attach-secrets"), about="user name"),
    Property("postgresql.password", Refused("Dohyo creates the account; for your servers, use the file of"
                                            " --attach-secrets"), about="password"),
    Property("postgresql.useSSL", Refused("it is only for attached systems; use the file of --attach-secrets"),
             about="TLS that also checks the server's certificate and name"),
    Property("postgresql.ca", Refused("it is only for attached systems; use the file of --attach-secrets"),
             about="certificates to trust, as PEM in Base64 on one line; the file of --attach-secrets"
                   " names a PEM file instead"),
]
