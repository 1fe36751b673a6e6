"""Principals, authorizer, delegation tokens, and what only Java has to do with TLS (for the rest see ssl.py)."""

from klamm.base.settings.declare import Mode, Setting, accepted, row
from klamm.base.settings.kinds import Kind

# fmt: off
ROWS: tuple[Setting, ...] = (
    accepted("security.providers", Kind.STRING, None, doc="Java classes that add security algorithms."),
    row("connections.max.reauth.ms", Kind.LONG, 0, doc="Time after which a SASL client must log in again; 0 for never."),
    accepted("ssl.provider", Kind.STRING, None, mode=Mode.PER_BROKER, doc="Java provider of TLS."),
    accepted("ssl.keymanager.algorithm", Kind.STRING, "SunX509", mode=Mode.PER_BROKER, doc="Java algorithm of the key manager."),
    accepted("ssl.trustmanager.algorithm", Kind.STRING, "PKIX", mode=Mode.PER_BROKER, doc="Java algorithm of the trust manager."),
    accepted("ssl.secure.random.implementation", Kind.STRING, None, mode=Mode.PER_BROKER, doc="Java source of random numbers for TLS."),
    accepted("ssl.engine.factory.class", Kind.CLASS, None, mode=Mode.PER_BROKER, doc="Java class that builds TLS engines."),
    row("delegation.token.secret.key", Kind.PASSWORD, None, doc="Secret that signs delegation tokens; the same on every broker."),
    row("delegation.token.max.lifetime.ms", Kind.LONG, 604_800_000, at_least=1, doc="Longest life of a delegation token, renewals included."),
    row("delegation.token.expiry.time.ms", Kind.LONG, 86_400_000, at_least=1, doc="Time after which a delegation token must be renewed."),
    row("delegation.token.expiry.check.interval.ms", Kind.LONG, 3_600_000, at_least=1, doc="Time between two looks for expired delegation tokens."),
)
# fmt: on
