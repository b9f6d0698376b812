"""Properties of the MySQL binding."""

from dohyo.scenario.property_types import Property, Refused, Whole

# fmt: off
PROPERTIES = [
    Property("mysql.connections", Whole(1, 1000), fixed="the servers need it when they start",
             about="number of connections of each client thread for its operations in flight; default: inflight, but"
             " at most 32"),
    Property("mysql.columntype", Refused("it follows from mysql_column_type"),
             about="type of the fields, bytes or int"),
    Property("mysql.url",
             Refused("Dohyo sets the address of its server; for your servers, use --attach mysql-innodb=HOST:PORT"),
             about="JDBC URL of the database, as in jdbc:mariadb://127.0.0.1:3306/ycsb"),
    Property("mysql.user", Refused("Dohyo creates the account; for your servers, use the file of --attach-secrets"),
             about="user name"),
    Property("mysql.password", Refused("Dohyo creates the account; for your servers, use the file of --attach-secrets"),
             about="password"),
    Property("mysql.useSSL", Refused("it is only for attached systems; use the file of --attach-secrets"),
             about="TLS that also checks the server's certificate and name"),
    Property("mysql.ca", Refused("it is only for attached systems; use the file of --attach-secrets"),
             about="certificates to trust, as PEM in Base64 on one line; the file of --attach-secrets"
                   " names a PEM file instead"),
]
