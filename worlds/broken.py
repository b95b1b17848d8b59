"""What ends a simulation that went wrong."""


class Broken(BaseException):
    """A law was broken. No `except Exception` of the code under test may swallow it."""
