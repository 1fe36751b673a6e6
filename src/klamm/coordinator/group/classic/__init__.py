"""Classic groups: members join a round, one of them is the leader, and it says who does what (JoinGroup, SyncGroup).

states.py     the states of a group and the table of its transitions
member.py     one member
group.py      one group: members, votes, generation; and the questions every kind of group answers
rebalance.py  how a round of a rebalance begins, fills, ends and fails; all alarms
join_group.py JoinGroup
groups.py     all classic groups of a shard: SyncGroup, Heartbeat, LeaveGroup, replay
answers.py    the messages
"""
