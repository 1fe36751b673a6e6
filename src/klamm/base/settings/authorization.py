"""Who may do what: the authorizer, its own settings, and the book that is kept of denials and changes."""

from dataclasses import dataclass

from klamm.base.settings.declare import Mode, setting
from klamm.base.settings.kinds import Kind


# fmt: off
@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationSettings:
    authorizer: str = setting("authorizer.class.name", Kind.STRING, "", doc="What decides who may do what: Kafka's StandardAuthorizer by its Java name, or a Python class as package.module:Class or by the name of its entry point. Empty: everybody may do everything.")
    principal_builder: str = setting("principal.builder.class", Kind.CLASS, "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder", mode=Mode.PER_BROKER, doc="What names the user of a connection: Kafka's default, or a Python class as package.module:Class or by the name of its entry point.")
    audit_file: str | None = setting("klamm.audit.file", Kind.STRING, None, hidden=True, doc="File that gets a line of JSON for each failed login, denied operation and administrative change. None: no file.")
    audit_topic: str | None = setting("klamm.audit.topic", Kind.STRING, None, hidden=True, doc="Topic that gets the same lines. It must exist. None: no topic.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardAuthorizerSettings:
    """Read by Kafka's authorizer, which is a plug-in there: taken from the config file, shown to nobody."""

    super_users: str | None = setting("super.users", Kind.STRING, None, doc="Users who may do everything, as `User:name` separated by semicolons.")
    allow_if_no_acl_found: bool = setting("allow.everyone.if.no.acl.found", Kind.BOOLEAN, False, doc="Allow what no ACL speaks of.")
# fmt: on
