"""What a request is refused for, with the HTTP status that says so."""

from rarefy.errors import InputError


class RefusedError(InputError):
    """A request that cannot be granted; nothing has changed."""

    status = 422


class NotFoundError(RefusedError):
    status = 404


class ConflictError(RefusedError):
    status = 409


class TooLargeError(RefusedError):
    status = 413


class UnknownFormatError(RefusedError):
    status = 415


class NotAllowedError(RefusedError):
    status = 403


class NoTokenError(RefusedError):
    status = 401


class BusyError(RefusedError):
    """More has come than is learned; the client is to try again."""

    status = 503


class NoRoomError(RefusedError):
    """What was to be kept could not be written to disk."""

    status = 507
