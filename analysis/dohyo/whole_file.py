"""Text files that are written whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def whole(file: Path) -> Iterator[TextIO]:
    """Opens a file for writing, UTF-8, that takes the place of the one before only when all is written.

    :raises OSError: with the file's name; the one before is still there
    """
    new = file.with_name(f"{file.name}.new")
    try:
        with new.open("w", encoding="utf-8") as out:
            yield out
        new.replace(file)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, error.filename or str(file)) from error
    except BaseException:
        new.unlink(missing_ok=True)
        raise
