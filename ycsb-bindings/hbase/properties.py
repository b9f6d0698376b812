"""Properties of the HBase binding."""

from dohyo.scenario.property_types import Property, Refused, Text, Whole

# fmt: off
PROPERTIES = [
    Property("columnfamily", Refused("Dohyo creates the table and its column family, also on attached servers"),
             about="column family"),
    Property("clientbuffering", Refused("a write counts only when the server has answered"),
             about="true: writes are buffered in the client"),
    Property("writebuffersize", Refused("a write counts only when the server has answered"),
             about="size of the client's write buffer"),
    Property("principal",
             Refused("it follows from hbase_authentication; for your servers, use the file of --attach-secrets"),
             about="Kerberos principal of the client, with hbase.security.authentication=kerberos"),
    Property("keytab",
             Refused("it follows from hbase_authentication; for your servers, use the file of --attach-secrets"),
             about="file with the principal's key, on the client's host"),
    Property("krb5conf",
             Refused("it follows from hbase_authentication; for your servers, use the file of --attach-secrets"),
             about="file that replaces /etc/krb5.conf, on the client's host"),
    Property("hbase.client.netty.tls.enabled", Refused("it follows from hbase_tls"), about="encryption"),
    Property("hbase.rpc.tls.keystore.location", Refused("Dohyo creates the certificates, see hbase_tls"),
             about="PEM file with the client's key and its certificate"),
    Property("hbase.rpc.tls.truststore.location", Refused("Dohyo creates the certificates, see hbase_tls"),
             about="PEM file with the certificate authority to trust"),
    Property("hbase.zookeeper.quorum",
             Refused("Dohyo sets the addresses of its servers; for your servers, use --attach"
                     " hbase=ZOOKEEPER,ZOOKEEPER:PORT:/ZNODE"), about="hosts of ZooKeeper"),
    Property("hbase.zookeeper.property.clientPort",
             Refused("Dohyo chooses the port; for your servers, use --attach hbase=ZOOKEEPER,ZOOKEEPER:PORT:/ZNODE"),
             about="port of ZooKeeper"),
    Property("hbase.client.retries.number", Refused("retries sets it for all systems"),
             about="number of attempts by the driver"),
    Property("hbase.netty.eventloop.rpcclient.thread.count", Whole(1, 1024),
             about="threads (event loops) that serve the channels; default: number of processors of the client's host"
             " minus 1"),
    Property("hbase.client.ipc.pool.size", Whole(1, 1024),
             about="channels to each region server; default: the number of event loops divided by the number of"
             " region servers, rounded up"),
    Property("hbase.*", Text(), about="any setting of HBase's own client"),
]
