"""Token: stands for a request that waits. Machines hold tokens, the shell maps them to whoever waits."""

Token = int
