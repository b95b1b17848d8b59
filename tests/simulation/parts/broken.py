"""What ends a simulation that went wrong."""


class Broken(BaseException):
    """A law was broken. No `except Exception` of the code under test may swallow it."""


class Fell(Broken):
    """The code under test raised what it should not: a crash, which ends a world like a broken law, and is none."""
