"""Groups that the broker balances (KIP-848): members heartbeat, the broker computes and reconciles assignments."""
