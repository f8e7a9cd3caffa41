"""Errors of requests, with their HTTP status."""

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


class UnreadableTokensError(RefusedError):
    """Nobody can be let in, whatever they have."""

    status = 503


class BusyError(RefusedError):
    """More has come than is learned; the client is to try again."""

    status = 503


class NoRoomError(RefusedError):
    """What was to be kept could not be written to disk."""

    status = 507


def bare(error: Exception) -> Exception:
    """An error without the frames that it came through, which keep rows and buffers in memory.

    They know the future that knows the error, so that it takes a search for cycles to free them.
    """
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
