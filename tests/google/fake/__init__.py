"""A fake Google Cloud: see `tests.google`."""

from tests.google.fake.fake import Fake

__all__ = ["Fake"]
