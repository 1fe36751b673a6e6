"""Rows into a table of a database over JDBC: what differs between databases, the connection, and the two ways to write."""
