"""Markers around untrusted text: a nonce that its writer could not foresee.

The nonce is an HMAC of the judged texts under a secret kept with the ledger: unpredictable to
whoever wrote them, absent from them, the same for every judge and on every rerun, so that prefix
caches and the ledger work.
"""

from __future__ import annotations

import hashlib
import hmac
from functools import lru_cache

NONCE_DIGITS = 16
NONCE_LINE = "Marker of this message: "


# Every judge of a response asks for the same one.
@lru_cache(maxsize=64)
def nonce_for(secret: bytes, *texts: str) -> str:
    """Sixteen hex digits for these texts, none of which contains them."""
    folded = [text.casefold() for text in texts]
    attempt = 0
    while True:
        digest = hmac.new(secret, attempt.to_bytes(4, "big"), hashlib.sha256)
        for text in texts:
            encoded = text.encode("utf-8", "surrogatepass")
            # The length first: ("ab", "c") and ("a", "bc") are different pairs of texts.
            digest.update(len(encoded).to_bytes(8, "big"))
            digest.update(encoded)
        nonce = digest.hexdigest()[:NONCE_DIGITS]
        if not any(nonce in text for text in folded):
            return nonce
        attempt += 1


def marked(name: str, text: str, nonce: str) -> str:
    """The text, unaltered, between an opening and a closing marker line."""
    return f"<<<{name} {nonce}>>>\n{text}\n<<<END {name} {nonce}>>>"
