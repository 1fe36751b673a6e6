"""The voters that a new cluster is formatted with: given one by one, or this controller alone (KIP-853)."""

from __future__ import annotations

from binascii import Error as NotBase64

from klamm.base.chance import Chance
from klamm.base.ids import ZERO_UUID, Uuid
from klamm.base.settings.broker import Settings
from klamm.raft.messages import Address
from klamm.raft.voters import Voter, VoterSet
from klamm.server.storage import StorageError, own_quorum


def check(settings: Settings, *, has_voters: bool, is_without: bool) -> None:
    """Whether what was asked for goes with the settings; `is_without`: others will tell who the voters are."""
    static = settings.quorum.voters
    if has_voters and static:
        raise StorageError(
            "You cannot specify controller.quorum.voters and format the node with --initial-controllers or "
            "--standalone. If you want to use dynamic quorum, please remove controller.quorum.voters and specify "
            "controller.quorum.bootstrap.servers instead."
        )
    is_open = settings.node.is_controller and settings.quorum.bootstrap_servers and not static
    if is_open and not has_voters and not is_without:
        raise StorageError(
            "Because controller.quorum.voters is not set on this controller, you must specify one of the following: "
            "--standalone, --initial-controllers, or --no-initial-controllers."
        )


def standalone(settings: Settings, chance: Chance) -> VoterSet:
    if not settings.node.is_controller:
        raise StorageError("You can only use --standalone on a controller.")
    if not settings.listeners.for_controllers():
        raise StorageError("No controller listeners found.")
    voters = own_quorum(settings, chance)
    if voters is None:
        raise StorageError("controller.quorum.bootstrap.servers must say where this controller is.")
    return voters


def parse(text: str, settings: Settings) -> VoterSet:
    """`id@host:port:directory`, separated by commas."""
    names = settings.listeners.controller_names()
    if not names:
        raise StorageError("controller.listener.names must name the listener of the controllers.")
    voters = [_parse_one(each.strip(), names[0]) for each in text.split(",")]
    if len({each.id for each in voters}) < len(voters):
        raise StorageError(f"A node id stands more than once in {text}.")
    return VoterSet(tuple(sorted(voters, key=lambda each: each.id)))


def _parse_one(text: str, listener: str) -> Voter:
    number, at, rest = text.partition("@")
    address, _, directory = rest.rpartition(":")
    host, _, port = address.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    if not at or not number.isdecimal() or (":" in host and not is_bracketed):
        raise StorageError(f"{text} is not of the form id@host:port:directory.")
    if not port.isdecimal() or not 0 < int(port) <= 65535:
        raise StorageError(
            f"{text} is not of the form id@host:port:directory: {port!r} is no port."
        )
    try:
        directory_id = Uuid.parse(directory)
    except (ValueError, NotBase64):
        raise StorageError(f"{directory!r} in {text} is not a directory id.") from None
    if directory_id == ZERO_UUID:
        raise StorageError(f"{directory!r} in {text} is not a directory id.")
    where = Address(host.removeprefix("[").removesuffix("]"), int(port))
    return Voter(int(number), directory_id, ((listener, where),))
