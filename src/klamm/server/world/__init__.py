"""What a node takes from the world, as ports; and the real world behind them. klamm.testing has a simulated one."""
