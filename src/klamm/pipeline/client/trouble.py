"""What goes wrong with settings of connections."""


class BadClientSettings(Exception):
    """Settings that one of the clients cannot use. The text is for the user."""
