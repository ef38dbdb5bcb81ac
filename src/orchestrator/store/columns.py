"""Kinds of columns: what both databases store in the same way."""

from datetime import UTC, datetime

from sqlalchemy import DateTime, Dialect, Text, TypeDecorator


class Instant(TypeDecorator[datetime]):
    """An aware instant, stored in UTC to the microsecond and read back in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse an instant without a zone: nobody could say when it was."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """SQLite keeps no zone; what was stored is UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def storable(value: str) -> str:
    """``value`` as a column of `Prose` gives it back."""
    if value.isascii() and "\0" not in value:
        return value
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


class Prose(TypeDecorator[str]):
    """Text that came from outside: what no database stores (NUL, half characters) is replaced."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Keep the text as it is wherever that is possible."""
        return None if value is None else storable(value)
