"""TLS, principals, authorizer and delegation tokens. None of it acts yet: every listener is plain text."""

from klamm.base.settings.declare import Mode, Setting, accepted, row
from klamm.base.settings.kinds import Kind

# fmt: off
ROWS: tuple[Setting, ...] = (
    accepted("authorizer.class.name", Kind.STRING, "", doc="Java class that decides who may do what."),
    accepted("principal.builder.class", Kind.CLASS, "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder", mode=Mode.PER_BROKER, doc="Java class that names the user of a connection."),
    accepted("security.providers", Kind.STRING, None, doc="Java classes that add security algorithms."),
    row("connections.max.reauth.ms", Kind.LONG, 0, doc="Time after which a SASL client must log in again; 0 for never."),
    accepted("ssl.client.auth", Kind.STRING, "none", one_of=("required", "requested", "none"), mode=Mode.PER_BROKER, doc="Whether clients must, may or need not show a certificate."),
    accepted("ssl.principal.mapping.rules", Kind.STRING, "DEFAULT", doc="Rules that turn a certificate's name into a user name."),
    accepted("ssl.allow.dn.changes", Kind.BOOLEAN, False, doc="Let a new key store carry another name than the old one."),
    accepted("ssl.allow.san.changes", Kind.BOOLEAN, False, doc="Let a new key store carry other alternative names than the old one."),
    accepted("ssl.protocol", Kind.STRING, "TLSv1.3", mode=Mode.PER_BROKER, doc="TLS version with which a connection begins."),
    accepted("ssl.provider", Kind.STRING, None, mode=Mode.PER_BROKER, doc="Java provider of TLS."),
    accepted("ssl.enabled.protocols", Kind.LIST, ("TLSv1.2", "TLSv1.3"), mode=Mode.PER_BROKER, doc="TLS versions that are allowed."),
    accepted("ssl.keystore.type", Kind.STRING, "JKS", mode=Mode.PER_BROKER, doc="File format of the key store."),
    accepted("ssl.keystore.location", Kind.STRING, None, mode=Mode.PER_BROKER, doc="File of the key store."),
    accepted("ssl.keystore.password", Kind.PASSWORD, None, mode=Mode.PER_BROKER, doc="Password of the key store."),
    accepted("ssl.key.password", Kind.PASSWORD, None, mode=Mode.PER_BROKER, doc="Password of the private key."),
    accepted("ssl.keystore.key", Kind.PASSWORD, None, mode=Mode.PER_BROKER, doc="The private key itself, as PEM."),
    accepted("ssl.keystore.certificate.chain", Kind.PASSWORD, None, mode=Mode.PER_BROKER, doc="The certificate chain itself, as PEM."),
    accepted("ssl.truststore.type", Kind.STRING, "JKS", mode=Mode.PER_BROKER, doc="File format of the trust store."),
    accepted("ssl.truststore.location", Kind.STRING, None, mode=Mode.PER_BROKER, doc="File of the trust store."),
    accepted("ssl.truststore.password", Kind.PASSWORD, None, mode=Mode.PER_BROKER, doc="Password of the trust store."),
    accepted("ssl.truststore.certificates", Kind.PASSWORD, None, mode=Mode.PER_BROKER, doc="The trusted certificates themselves, as PEM."),
    accepted("ssl.keymanager.algorithm", Kind.STRING, "SunX509", mode=Mode.PER_BROKER, doc="Java algorithm of the key manager."),
    accepted("ssl.trustmanager.algorithm", Kind.STRING, "PKIX", mode=Mode.PER_BROKER, doc="Java algorithm of the trust manager."),
    accepted("ssl.endpoint.identification.algorithm", Kind.STRING, "https", mode=Mode.PER_BROKER, doc="How a server's host name is checked against its certificate."),
    accepted("ssl.secure.random.implementation", Kind.STRING, None, mode=Mode.PER_BROKER, doc="Java source of random numbers for TLS."),
    accepted("ssl.cipher.suites", Kind.LIST, (), mode=Mode.PER_BROKER, doc="Cipher suites that are allowed; all where none is named."),
    accepted("ssl.engine.factory.class", Kind.CLASS, None, mode=Mode.PER_BROKER, doc="Java class that builds TLS engines."),
    row("delegation.token.secret.key", Kind.PASSWORD, None, doc="Secret that signs delegation tokens; the same on every broker."),
    row("delegation.token.max.lifetime.ms", Kind.LONG, 604_800_000, at_least=1, doc="Longest life of a delegation token, renewals included."),
    row("delegation.token.expiry.time.ms", Kind.LONG, 86_400_000, at_least=1, doc="Time after which a delegation token must be renewed."),
    row("delegation.token.expiry.check.interval.ms", Kind.LONG, 3_600_000, at_least=1, doc="Time between two looks for expired delegation tokens."),
)
# fmt: on

# Read by Kafka's authorizer, which is a plug-in there: accepted in a config file, shown to nobody.
# fmt: off
AUTHORIZER: tuple[Setting, ...] = (
    accepted("super.users", Kind.STRING, None, doc="Users who may do everything, as `User:name` separated by semicolons."),
    accepted("allow.everyone.if.no.acl.found", Kind.BOOLEAN, False, doc="Allow what no ACL speaks of."),
)
# fmt: on
