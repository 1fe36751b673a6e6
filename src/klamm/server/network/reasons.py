"""Why no request of a connection is handled now; more than one reason can hold."""

WAITING = 1  # a request is parked; the socket is still read, to notice when the client goes away
CHOKED = 2  # the client does not read its answers
SENDING = 4  # a long answer is on its way
SHORT = 8  # there is no memory for the rest of a frame
CLOSING = 16
MUTED = 128  # the client has used more than its quota
FULL = 32  # as many produces wait for followers as may
# No reason to stop, but answers are in line behind some that are pending.
PIPELINED = 64
