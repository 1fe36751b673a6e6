"""All targets, by name."""

from fuzz.target import Target
from fuzz.targets import broker, codecs, frames, logins, logs, requests

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        requests.REQUESTS,
        requests.HEADERS,
        *codecs.TARGETS,
        logs.RECORDS,
        logs.APPENDS,
        frames.FRAMES,
        logins.LOGINS,
        logins.SECURITY_SETTINGS,
        broker.BROKER,
    )
}
