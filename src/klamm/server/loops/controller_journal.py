"""What an operator should know of the controller's decisions, one line each; and how many elections were unclean."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from klamm.controller.partitions.change import RECOVERING
from klamm.metadata.image import ClusterImage
from klamm.metadata.records.nodes import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnregisterBrokerRecord,
)
from klamm.metadata.records.topics import PartitionChangeRecord

log = logging.getLogger(__name__)

# Unclean elections that are named one by one in a single decision; of more only the number is told.
_NAMED = 20


class Journal:
    __slots__ = ("unclean_elections",)

    def __init__(self) -> None:
        self.unclean_elections = 0

    def note(self, records: Sequence[object], image: ClusterImage, voters: Collection[int]) -> None:
        """The image is the one that the records were decided on; the voters are those of the quorum."""
        unclean: list[PartitionChangeRecord] = []
        for record in records:
            if isinstance(record, PartitionChangeRecord):
                if record.leader_recovery_state == RECOVERING:
                    unclean.append(record)
            elif isinstance(record, BrokerRegistrationChangeRecord):
                _note_change(record, len(records))
            elif isinstance(record, RegisterBrokerRecord):
                log.info(
                    "registered a broker: broker=%s epoch=%s incarnation=%s",
                    record.broker_id,
                    record.broker_epoch,
                    record.incarnation_id,
                )
            elif isinstance(record, RegisterControllerRecord):
                if record.controller_id not in voters:
                    log.warning(
                        "registered a controller that is no voter, whatever its settings say: controller=%s voters=%s",
                        record.controller_id,
                        ",".join(map(str, sorted(voters))),
                    )
            elif isinstance(record, UnregisterBrokerRecord):
                log.info("unregistered a broker: broker=%s", record.broker_id)
        if unclean:
            self._note_unclean(unclean, image)

    def _note_unclean(self, elections: list[PartitionChangeRecord], image: ClusterImage) -> None:
        self.unclean_elections += len(elections)
        for each in elections[:_NAMED]:
            topic = image.topics_by_id.get(each.topic_id)
            log.warning(
                "elected a leader that may lack records: partition=%s-%s leader=%s",
                topic.name if topic else each.topic_id,
                each.partition_id,
                each.leader,
            )
        if len(elections) > _NAMED:
            log.warning("elected leaders that may lack records: count=%s", len(elections))


def _note_change(record: BrokerRegistrationChangeRecord, records: int) -> None:
    what = "changed the registration of a broker"
    if record.fenced > 0:
        what = "fenced a broker"
    elif record.fenced < 0:
        what = "unfenced a broker"
    elif record.in_controlled_shutdown:
        what = "a broker hands over, to stop"
    elif record.log_dirs:
        what = "a broker has lost a directory"
    log.info(
        "%s: broker=%s epoch=%s records=%s", what, record.broker_id, record.broker_epoch, records
    )
