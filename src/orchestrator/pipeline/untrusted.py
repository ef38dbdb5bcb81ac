"""Text that people or models wrote and that an agent is to read: data, never instructions.

Whatever comes from outside is handed to an agent inside a fence that names where it came from; the fence
carries a number that its author could not know, so that the text cannot close it.
"""

import hashlib


def text_digest(title: str, description: str) -> str:
    """SHA-256 of what an item asks for: what was approved is recognised by it."""
    return hashlib.sha256(f"{title}\n\n{description}".encode("utf-8", "replace")).hexdigest()
