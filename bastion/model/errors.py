"""The errors that we raise on purpose. Their text is for the user: what is, to which object, what to do next.

BastionError          raised on purpose; printed as one line
  UsageError          the command line makes no sense (exit code 2)
  SpecError           a job spec breaks one or more rules; the text names each field
  JobNotFound         no such job (exit code 102)
  Forbidden           it is somebody else's
  BundleError         the user's code cannot be packed or unpacked
  SecretError         a secret is not on this machine, or others could read it there
  RecordError         an object in the bucket is not what its key says
    NewerVersion      it was written by a newer version of Bastion: upgrade
    TooLarge          it is larger than it may be, and was not read
  BucketError         the bucket could not be asked; for a write the outcome is unknown
    BucketNotFound    there is no such bucket
    AccessDenied      the bucket says that we may not
    StoreFull         no room is left to write
  ObjectNotFound      there is no object of this key (an answer, not a failure)
  VersionConflict     somebody else changed the object since it was read; nothing was written
  IllegalMove         the table of moves does not allow an event; nothing was changed
  RunnerError         a runner could not be asked; asking again may help
    NotReady          it is not ready yet; the next reconcile asks again, and this is not an error
  LeadershipLost      another bastion took over: this one must stop at once
  JournalEndLost      the bucket knows more than the end of the journal: nobody may go on from there
  ClockMismatch       our clock, or the journal's time, is not the store's: nothing may be done by it yet
"""


class BastionError(Exception):
    """An error that is raised on purpose; its text is for the user."""


class UsageError(BastionError):
    """The command line makes no sense."""


class SpecError(BastionError):
    """A job spec breaks one or more rules; the text names each field."""


class JobNotFound(BastionError):
    """There is no such job."""


class Forbidden(BastionError):
    """The object belongs to somebody else."""


class BundleError(BastionError):
    """The user's code cannot be packed or unpacked."""


class SecretError(BastionError):
    """A secret is not on this machine, or others could read it there. The text has its name, never its value."""


class RecordError(BastionError):
    """An object in the bucket is not what its key says."""


class NewerVersion(RecordError):
    """A newer version of Bastion wrote the object: upgrade."""


class TooLarge(RecordError):
    """The object is larger than it may be, and was not read."""

    owner: int | None = None
    """Number of the account that wrote the object; None if the store does not report it."""


class BucketError(BastionError):
    """The bucket could not be asked. For a write the outcome is unknown."""


class BucketNotFound(BucketError):
    """There is no such bucket."""


class AccessDenied(BucketError):
    """The bucket denies us access."""


class StoreFull(BucketError):
    """There is no room left to write."""


class ObjectNotFound(BastionError):
    """There is no object of this key. This is an answer, not a failure."""


class VersionConflict(BastionError):
    """Somebody else changed the object since it was read. Nothing was written."""


class IllegalMove(BastionError):
    """The table of transitions does not allow an event. Nothing was changed. The text is always one line."""

    def __init__(self, what: str) -> None:
        super().__init__(what if what.isprintable() else repr(what))


class RunnerError(BastionError):
    """A runner could not be asked. Asking again may help."""


class NotReady(RunnerError):
    """The runner is not ready yet. The next reconcile retries; this is not an error."""


class ClockMismatch(BastionError):
    """This clock, or the journal's time, differs from the store's. Nothing was written, and nothing may be done yet."""


class LeadershipLost(BastionError):
    """Another bastion took over: this one must stop at once."""


class JournalEndLost(BastionError):
    """The end of the journal is lost: the bucket, or a running bastion, knows more. No bastion may go on from there."""
