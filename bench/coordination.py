"""Requests to coordinators, encoded beforehand as far as can be: a member's id and a producer's epoch come later."""

import time
from collections.abc import Sequence
from struct import Struct

from bench import requests
from bench.connection import Connection, UnexpectedAnswer
from bench.requests import frame
from bench.target import Refused, Target, check, until_it_works
from klamm.base.errors import ErrorCode
from klamm.base.ids import Uuid
from klamm.protocol.messages.end_txn import EndTxnRequest
from klamm.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from klamm.protocol.messages.heartbeat import HeartbeatRequest
from klamm.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from klamm.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from klamm.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from klamm.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from klamm.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
