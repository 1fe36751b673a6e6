"""Why a handshake failed, in words for the one line of the log."""

from __future__ import annotations

import ssl

_NOT_TLS = {
    "HTTP_REQUEST",
    "HTTPS_PROXY_REQUEST",
    "WRONG_VERSION_NUMBER",
    "UNKNOWN_PROTOCOL",
    "BAD_RECORD_TYPE",
    "UNEXPECTED_MESSAGE",
    "RECORD_LENGTH_MISMATCH",
    "PACKET_LENGTH_TOO_LONG",
}
_REASONS = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "it showed no certificate",
    "UNSUPPORTED_PROTOCOL": "it speaks no TLS version that is allowed",
    "NO_SHARED_CIPHER": "it offers no cipher suite that is allowed",
    "NO_SUITABLE_SIGNATURE_ALGORITHM": "it cannot verify signatures of this key",
}


def reason_of(error: ssl.SSLError | ValueError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is refused: {error.verify_message}"
    reason = getattr(error, "reason", None)
    if not isinstance(reason, str):
        return f"TLS fails: {error}"
    if reason in _NOT_TLS:
        return "it does not speak TLS"
    if "_ALERT_" in reason:
        return f"it refuses: {reason.partition('_ALERT_')[2].replace('_', ' ').lower()}"
    return _REASONS.get(reason, reason.replace("_", " ").lower())
