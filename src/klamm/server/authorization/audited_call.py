"""AuditedCall: a request of an administrator, of which the audit hears when it is answered."""

from __future__ import annotations

from klamm.server.authorization.audit import Audit
from klamm.server.call import Call, EncodedBody, LongBody, Message
from klamm.server.network.outgoing import Answer


class AuditedCall(Call):
    __slots__ = ("audit", "request")

    audit: Audit
    request: object

    def encode(self, body: Message | EncodedBody | LongBody) -> Answer:
        if not getattr(self.request, "validate_only", False):
            self.audit.changed(self, self.request, body)
        return super().encode(body)
