"""Straight paths for what nearly every produce and fetch is, one topic and one partition, and for plain commits and heartbeats.

Such requests are routed by their raw bytes and answered from prebuilt Structs; no message object is made. Everything
else, and every error, is left to the handlers, which know all cases: a straight path returns None before anything has
happened.
"""
