"""Topics that are deleted and made again."""

from confluent_kafka.admin import AdminClient

from pipeline.running.pipelines import SECONDS, create


def make_again(bootstrap: str, topic: str, *, partitions: int = 2) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for deleted in admin.delete_topics([topic]).values():
        deleted.result(SECONDS)
    create(bootstrap, topic, partitions=partitions)
