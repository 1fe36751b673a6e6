"""klamm's own benchmark: `python -m bench`. It knows a broker as an address and a process, and the protocol."""
