"""Verification (KIP-890): no record of a transaction is taken before its coordinator says that the partition belongs to it.

A partition that got records outside of a transaction that its coordinator knows would never get their marker: readers of committed
records would wait for ever. So the first batch of a transaction on a partition is asked about; those after it are not.

batch.py              does a batch belong to a transaction, and is that open here? The straight paths ask nothing else
produce.py            all batches of one produce
offset_commit.py      the offsets of a group, which go to a partition like any other
verifier.py           the question to the coordinator, here or on another broker, and when it is asked again
partition_channel.py  the question on the wire (AddPartitionsToTxn of brokers)

Between question and append the transaction may end: the guards against that are the partition's (replication/verification.py).
"""
