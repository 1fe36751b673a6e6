"""All faults by the names that plans give them."""

from __future__ import annotations

from klamm.testing.scenarios.many_nodes import crashes, disks, links, orders
from klamm.testing.scenarios.many_nodes.trouble import Fault

BY_NAME: dict[str, Fault] = {
    "kill": crashes.kill,
    "power": crashes.power_failure,
    "crash in the middle": crashes.crash_in_the_middle,
    "kill all": crashes.kill_all,
    "pause": crashes.pause,
    "restart": crashes.restart,
    "clock": crashes.set_clock,
    "cut": links.cut,
    "one way": links.cut_one_way,
    "ring": links.cut_ring,
    "reset": links.reset,
    "lossy": links.lossy,
    "slow node": links.slow_node,
    "full disk": disks.full_disk,
    "broken disk": disks.broken_disk,
    "slow disk": disks.slow_disk,
    "elect": orders.elect,
    "reassign": orders.reassign,
    "voters": orders.change_voters,
}
