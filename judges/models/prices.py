"""What tokens cost: as a user states it, a million of each kind, and as it is reckoned with."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from ...records.types import Usage


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """US dollars a token, by kind.

    Attributes:
        input, output: what is neither read from a cache nor written to it.
        cache_read, cache_write: that of `input` where no other is known.
        most_tokens: inputs and outputs longer than this may cost otherwise; None = none do.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float
    most_tokens: int | None = None

    def cost(self, usage: Usage) -> float | None:
        """US dollars; None where the tokens, or the price of so many, are unknown."""
        sent, said = usage.input_tokens, usage.output_tokens
        if sent is None or said is None:
            return None
        if self.most_tokens is not None and max(sent, said) > self.most_tokens:
            return None
        if (usage.cached_input_tokens or 0) + (usage.cache_write_tokens or 0) > sent:
            return None
        return sum(self.parts(usage))

    def parts(self, usage: Usage) -> tuple[float, float, float, float]:
        """US dollars for the three kinds of input (see `input_parts`) and for output."""
        plain, cached, written = input_parts(usage)
        return (
            plain * self.input,
            cached * self.cache_read,
            written * self.cache_write,
            (usage.output_tokens or 0) * self.output,
        )

    def times(self, factor: float) -> TokenPrices:
        """The same prices, all multiplied."""
        return TokenPrices(
            self.input * factor,
            self.output * factor,
            self.cache_read * factor,
            self.cache_write * factor,
            self.most_tokens,
        )


FREE = TokenPrices(0.0, 0.0, 0.0, 0.0)


def input_parts(usage: Usage) -> tuple[int, int, int]:
    """Input tokens read anew, read from a cache, and written to one; unknown counts as 0."""
    cached, written = usage.cached_input_tokens or 0, usage.cache_write_tokens or 0
    return max(0, (usage.input_tokens or 0) - cached - written), cached, written


class Prices(BaseModel):
    """What a backend charges, in US dollars per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    input: float = Field(ge=0, description="tokens read")
    output: float = Field(ge=0, description="tokens written")
    cached_input: float | None = Field(
        default=None, ge=0, description="read from a cache; as input, if left out"
    )
    cache_write: float | None = Field(
        default=None, ge=0, description="written to a cache; as input, if left out"
    )

    def per_token(self) -> TokenPrices:
        """The same a token."""
        read = self.input if self.cached_input is None else self.cached_input
        write = self.input if self.cache_write is None else self.cache_write
        return TokenPrices(self.input / 1e6, self.output / 1e6, read / 1e6, write / 1e6)
