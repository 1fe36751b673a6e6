"""THE error table: every code a client may be told, in one place.

The number appears nowhere else. `retriable` is what the Java client makes of the code.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class ErrorCode(IntEnum):
    retriable: bool
    text: str

    def __new__(cls, code: int, retriable: bool, text: str) -> Self:
        self = int.__new__(cls, code)
        self._value_ = code
        self.retriable = retriable
        self.text = text
        return self

    # fmt: off
    UNKNOWN_SERVER_ERROR = -1, False, "The server failed in a way it did not expect; its log has the details."
    NONE = 0, False, "No error."
    OFFSET_OUT_OF_RANGE = 1, False, "The log does not reach to this offset; ask for its first or last offset and begin there."
    CORRUPT_MESSAGE = 2, True, "The records do not match their checksum or are malformed; send them again."
    UNKNOWN_TOPIC_OR_PARTITION = 3, True, "This broker does not hold the topic or partition; refresh metadata or create the topic."
    INVALID_FETCH_SIZE = 4, False, "The number of bytes asked for makes no sense; ask for a positive one."
    LEADER_NOT_AVAILABLE = 5, True, "The partition has no leader at the moment; refresh metadata and try again."
    NOT_LEADER_OR_FOLLOWER = 6, True, "This broker does not serve the partition; refresh metadata."
    REQUEST_TIMED_OUT = 7, True, "The request was not finished in time; it may have taken effect, so look before trying again."
    BROKER_NOT_AVAILABLE = 8, False, "The broker cannot be reached at the moment."
    REPLICA_NOT_AVAILABLE = 9, True, "The replica is not on this broker at the moment; refresh metadata."
    MESSAGE_TOO_LARGE = 10, False, "The batch is larger than the topic's max.message.bytes; send smaller batches or raise the limit."
    STALE_CONTROLLER_EPOCH = 11, False, "The controller that sent this has been replaced by a newer one."
    OFFSET_METADATA_TOO_LARGE = 12, False, "The text that comes with the offset is longer than offset.metadata.max.bytes; shorten it."
    NETWORK_EXCEPTION = 13, True, "The connection broke before the answer came; connect again."
    COORDINATOR_LOAD_IN_PROGRESS = 14, True, "The coordinator is still reading its log; try again in a moment."
    COORDINATOR_NOT_AVAILABLE = 15, True, "There is no coordinator at the moment; look it up again."
    NOT_COORDINATOR = 16, True, "Another broker is the coordinator; look it up again."
    INVALID_TOPIC_EXCEPTION = 17, False, "The topic name is not allowed, or the topic cannot be used for this."
    RECORD_LIST_TOO_LARGE = 18, False, "The records do not fit into a segment; send smaller batches or raise segment.bytes."
    NOT_ENOUGH_REPLICAS = 19, True, "Fewer replicas are in sync than min.insync.replicas asks for; nothing was written, try again."
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, True, "The records were written, but too few replicas were in sync to confirm them; trying again may double them."
    INVALID_REQUIRED_ACKS = 21, False, "Only -1, 0 and 1 can be asked for as acks."
    ILLEGAL_GENERATION = 22, False, "The member speaks of an old round of the group; join again."
    INCONSISTENT_GROUP_PROTOCOL = 23, False, "The member has no assignor or protocol in common with the group; use what the others use."
    INVALID_GROUP_ID = 24, False, "The group id is empty or not allowed."
    UNKNOWN_MEMBER_ID = 25, False, "The group does not know this member; join again."
    INVALID_SESSION_TIMEOUT = 26, False, "The session timeout is outside of group.min.session.timeout.ms and group.max.session.timeout.ms."
    REBALANCE_IN_PROGRESS = 27, False, "The group is forming a new round; join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, False, "The commit is too large to be stored."
    TOPIC_AUTHORIZATION_FAILED = 29, False, "The user may not do this with the topic; ask for an ACL."
    GROUP_AUTHORIZATION_FAILED = 30, False, "The user may not do this with the group; ask for an ACL."
    CLUSTER_AUTHORIZATION_FAILED = 31, False, "The user may not do this with the cluster; ask for an ACL."
    INVALID_TIMESTAMP = 32, False, "The timestamp lies further from the broker's clock than the topic allows."
    UNSUPPORTED_SASL_MECHANISM = 33, False, "The broker does not offer this SASL mechanism; choose one of those it named."
    ILLEGAL_SASL_STATE = 34, False, "The request does not fit the state of the login."
    UNSUPPORTED_VERSION = 35, False, "The broker does not speak this version of the request; ask it for its versions."
    TOPIC_ALREADY_EXISTS = 36, False, "There is a topic of this name already."
    INVALID_PARTITIONS = 37, False, "The number of partitions is not allowed; it must be positive and can only grow."
    INVALID_REPLICATION_FACTOR = 38, False, "The number of replicas is not positive or larger than the number of brokers."
    INVALID_REPLICA_ASSIGNMENT = 39, False, "The assignment of replicas to brokers is incomplete or contradicts itself."
    INVALID_CONFIG = 40, False, "A setting is unknown or has a value that it cannot take."
    NOT_CONTROLLER = 41, True, "This node is not the active controller; refresh metadata."
    INVALID_REQUEST = 42, False, "The request contradicts itself or breaks a rule of the protocol."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, False, "The message format of the topic cannot do this."
    POLICY_VIOLATION = 44, False, "A policy of the cluster forbids this."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, False, "Records before this batch are missing; the producer must begin anew."
    DUPLICATE_SEQUENCE_NUMBER = 46, False, "The batch was written before; there is nothing left to do."
    INVALID_PRODUCER_EPOCH = 47, False, "A newer producer with the same id has taken over; this one must begin anew."
    INVALID_TXN_STATE = 48, False, "The transaction is not in a state that allows this."
    INVALID_PRODUCER_ID_MAPPING = 49, False, "The producer id does not belong to this transactional id."
    INVALID_TRANSACTION_TIMEOUT = 50, False, "The transaction timeout is longer than transaction.max.timeout.ms; ask for less."
    CONCURRENT_TRANSACTIONS = 51, True, "An earlier transaction of this producer is still ending; try again in a moment."
    TRANSACTION_COORDINATOR_FENCED = 52, False, "The coordinator that sent this has been replaced by a newer one."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, False, "The user may not use this transactional id; ask for an ACL."
    SECURITY_DISABLED = 54, False, "The cluster runs without an authorizer, so there are no ACLs to work with."
    OPERATION_NOT_ATTEMPTED = 55, False, "This part was not tried, because another part of the request failed."
    KAFKA_STORAGE_ERROR = 56, True, "A disk failed while the log was read or written; another replica may serve."
    LOG_DIR_NOT_FOUND = 57, False, "The broker has no data directory of this name."
    SASL_AUTHENTICATION_FAILED = 58, False, "The login was refused; check user and password."
    UNKNOWN_PRODUCER_ID = 59, False, "Nothing is known of this producer any more; it must begin anew."
    REASSIGNMENT_IN_PROGRESS = 60, False, "The partition is being moved; wait until that has ended."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, False, "Delegation tokens are switched off here."
    DELEGATION_TOKEN_NOT_FOUND = 62, False, "There is no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, False, "The delegation token belongs to somebody else."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, False, "Tokens can be asked for only over a secure connection that did not log in with a token."
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, False, "The user may not do this with the delegation token."
    DELEGATION_TOKEN_EXPIRED = 66, False, "The delegation token has expired; get a new one."
    INVALID_PRINCIPAL_TYPE = 67, False, "This kind of principal cannot be used here."
    NON_EMPTY_GROUP = 68, False, "The group still has members; stop them first."
    GROUP_ID_NOT_FOUND = 69, False, "There is no such group."
    FETCH_SESSION_ID_NOT_FOUND = 70, True, "The broker has dropped the fetch session; begin a new one."
    INVALID_FETCH_SESSION_EPOCH = 71, True, "The fetch session is at another step; begin a new one."
    LISTENER_NOT_FOUND = 72, True, "The leader has no listener of the name that this request came by; try again."
    TOPIC_DELETION_DISABLED = 73, False, "Deleting topics is switched off by delete.topic.enable."
    FENCED_LEADER_EPOCH = 74, True, "The partition has a newer leader than the request knows of; refresh metadata."
    UNKNOWN_LEADER_EPOCH = 75, True, "The request knows of a newer leader than this broker does; try again in a moment."
    UNSUPPORTED_COMPRESSION_TYPE = 76, False, "The client's version cannot read the codec of these records; use a newer client."
    STALE_BROKER_EPOCH = 77, False, "The broker has registered anew since this was sent."
    OFFSET_NOT_AVAILABLE = 78, True, "The new leader cannot answer yet; try again in a moment."
    MEMBER_ID_REQUIRED = 79, False, "Join again with the member id of this answer."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, True, "The preferred replica cannot lead at the moment."
    GROUP_MAX_SIZE_REACHED = 81, False, "The group has as many members as it may have."
    FENCED_INSTANCE_ID = 82, False, "Another member with the same static id has taken over; this one must stop."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, True, "No replica that may lead is available at the moment."
    ELECTION_NOT_NEEDED = 84, True, "The partition is led by the wanted replica already."
    NO_REASSIGNMENT_IN_PROGRESS = 85, False, "The partition is not being moved."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, False, "The group still reads the topic; stop its members first."
    INVALID_RECORD = 87, False, "A record breaks a rule of the topic and was refused."
    UNSTABLE_OFFSET_COMMIT = 88, True, "Offsets of an open transaction are in the way; try again when it has ended."
    THROTTLING_QUOTA_EXCEEDED = 89, True, "The quota is used up; try again after the time that the answer names."
    PRODUCER_FENCED = 90, False, "A newer producer with the same transactional id has taken over; this one must stop."
    RESOURCE_NOT_FOUND = 91, False, "There is no such resource."
    DUPLICATE_RESOURCE = 92, False, "The request names a resource twice."
    UNACCEPTABLE_CREDENTIAL = 93, False, "The credential breaks a rule for credentials."
    INCONSISTENT_VOTER_SET = 94, False, "Sender and receiver do not belong to the same set of voters."
    INVALID_UPDATE_VERSION = 95, False, "The version of the update is not allowed."
    FEATURE_UPDATE_FAILED = 96, False, "The features could not be updated."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, False, "The forwarded principal cannot be read."
    SNAPSHOT_NOT_FOUND = 98, False, "There is no such snapshot; ask for the newest one."
    POSITION_OUT_OF_RANGE = 99, False, "The position lies outside of the snapshot."
    UNKNOWN_TOPIC_ID = 100, True, "No topic here has this id; refresh metadata."
    DUPLICATE_BROKER_REGISTRATION = 101, False, "A running broker has registered under this number already."
    BROKER_ID_NOT_REGISTERED = 102, False, "No broker has registered under this number."
    INCONSISTENT_TOPIC_ID = 103, True, "The topic has another id here than in the request; refresh metadata."
    INCONSISTENT_CLUSTER_ID = 104, False, "The request is meant for another cluster."
    TRANSACTIONAL_ID_NOT_FOUND = 105, False, "There is no such transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, True, "The fetch session mixes topic names and topic ids; begin a new one."
    INELIGIBLE_REPLICA = 107, False, "The replica may not join the in-sync replicas now."
    NEW_LEADER_ELECTED = 108, False, "The change made another replica the leader; refresh metadata."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, False, "The offset has moved to tiered storage."
    FENCED_MEMBER_EPOCH = 110, False, "The group has moved on without this member; join again."
    UNRELEASED_INSTANCE_ID = 111, False, "The static id is still in use by another member; wait until it has left."
    UNSUPPORTED_ASSIGNOR = 112, False, "The broker does not have this assignor; choose one of group.consumer.assignors."
    STALE_MEMBER_EPOCH = 113, False, "The member's epoch is out of date; send a heartbeat and try again."
    MISMATCHED_ENDPOINT_TYPE = 114, False, "The request was sent to a broker but meant for a controller, or the other way round."
    UNSUPPORTED_ENDPOINT_TYPE = 115, False, "This kind of endpoint cannot be asked for here."
    UNKNOWN_CONTROLLER_ID = 116, False, "There is no controller of this number."
    UNKNOWN_SUBSCRIPTION_ID = 117, False, "The metrics subscription is out of date; fetch it again."
    TELEMETRY_TOO_LARGE = 118, False, "The metrics are larger than telemetry.max.bytes; send fewer."
    INVALID_REGISTRATION = 119, False, "The registration of the broker breaks a rule."
    TRANSACTION_ABORTABLE = 120, False, "The transaction cannot go on; abort it and begin a new one."
    INVALID_RECORD_STATE = 121, False, "The record is not in a state that allows this, perhaps because its lock has run out."
    SHARE_SESSION_NOT_FOUND = 122, True, "The broker has dropped the share session; begin a new one."
    INVALID_SHARE_SESSION_EPOCH = 123, True, "The share session is at another step; begin a new one."
    FENCED_STATE_EPOCH = 124, False, "The share partition has moved on; its state must be read anew."
    INVALID_VOTER_KEY = 125, False, "The voter's key does not match the receiver."
    DUPLICATE_VOTER = 126, False, "The voter belongs to the quorum already."
    VOTER_NOT_FOUND = 127, False, "The quorum has no such voter."
    INVALID_REGULAR_EXPRESSION = 128, False, "The pattern is not a valid regular expression."
    REBOOTSTRAP_REQUIRED = 129, False, "The client's metadata is of no use here; it must begin again from its bootstrap servers."
    STREAMS_INVALID_TOPOLOGY = 130, False, "The topology of the Streams application is not valid."
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, False, "The epoch of the topology is not valid."
    STREAMS_TOPOLOGY_FENCED = 132, False, "The topology is out of date."
    SHARE_SESSION_LIMIT_REACHED = 133, True, "The broker keeps as many share sessions as it may; try again later."
    # fmt: on


def code_of(number: int) -> ErrorCode:
    """What another node says. A code that came after us is as good as the general one."""
    return _CODES.get(number, ErrorCode.UNKNOWN_SERVER_ERROR)


_CODES = {int(code): code for code in ErrorCode}


class ApiError(Exception):
    """Everything a client may be told: a code from the table and, where it helps, a sentence of its own."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or code.text)
        self.code = code
        self.message = message or code.text


class CorruptFrame(Exception):
    """The peer sent bytes that are not what they claim to be. Its fault, never ours: close the connection."""
