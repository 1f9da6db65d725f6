"""What one generator writes for one scenario: its first reply, and the one request to mend it."""

from __future__ import annotations

import re
from dataclasses import replace

from ..errors import ProviderError
from ..judges.models.backend import Backend
from ..judges.models.budget import BudgetSpentError
from ..judges.models.client import Answer
from ..judges.models.rate_limit import StoppedError
from ..judges.parse import read_object
from ..judges.structured import ask
from .prompt_construction_blocks import read_blocks
from .prompt_construction_brief import generation_contract
from .prompt_construction_calls import (
    cost_of,
    generation_repair_request,
    generation_request,
)
from .prompt_construction_state import BundleStatus, Construction, Draft

_ECHO_CHARACTERS = 6_000


async def write_bundle(work: Construction, generator: Backend) -> Draft:
    """The first reply read, or why there is none.

    Raises:
        StoreError: the ledger cannot be written.
    """
    name, material = generator.spec.name, work.material
    purse = work.desk.purse()
    try:
        answer, request = await ask(
            work.desk,
            generator,
            lambda rung: generation_request(
                generator, material, secret=work.desk.ledger.secret, rung=rung
            ),
            purse,
        )
    except ProviderError as error:
        return Draft(name, ended=_ended_by(error), reason=f"{error.fault}: {error.detail}")
    except BudgetSpentError:
        return Draft(name, ended="not_asked", reason="budget")
    except StoppedError:
        return Draft(name, ended="not_asked", reason="interrupted")
    finally:
        purse.close()
    numbers = range(1, material.count + 1)
    contract = generation_contract(numbers, scratchpad=True, technology=material.technology)
    reading = read_object(answer.reply, contract)
    draft = _paid(Draft(name, answered_by=answer.reply.answered_by), answer)
    if reading.outcome == "refused":
        return replace(draft, ended="refused", reason=reading.detail or "")
    text = (answer.reply.text or "")[:_ECHO_CHARACTERS]
    draft = replace(draft, reply=text, rung=request.structured)
    if reading.outcome == "unreadable":
        problem = reading.problem or "not_json"
        return replace(draft, problem=problem, reason=f"{problem}: {reading.detail or ''}")
    blocks = read_blocks(reading.value, numbers, material=material.text, technology=_terms(work))
    return replace(draft, blocks=tuple(blocks))


async def repair_bundle(work: Construction, draft: Draft) -> Draft:
    """The draft after its one repair: the prompts at fault anew, the others as they stood.

    Raises:
        StoreError: the ledger cannot be written.
    """
    generator, material = work.generator(draft.generator), work.material
    numbers = [block.number for block in draft.faulty] or list(range(1, material.count + 1))
    faults = [(block.number, code) for block in draft.faulty for code in block.faults]
    told = tuple(f"{number}: {code}" for number, code in faults) or (draft.reason,)
    tried = replace(draft, is_repaired=True, repaired_faults=told)
    purse = work.desk.purse()
    try:
        request = generation_repair_request(
            generator,
            material,
            draft.reply,
            faults,
            numbers,
            secret=work.desk.ledger.secret,
            rung=draft.rung,
            problem=draft.problem,
        )
        answer = await work.desk.ask(generator, request, purse)
    except ProviderError as error:
        return replace(tried, reason=f"repair: {error.fault}: {error.detail}")
    except BudgetSpentError:
        return replace(tried, ended="not_asked", reason="budget")
    except StoppedError:
        return replace(tried, ended="not_asked", reason="interrupted")
    finally:
        purse.close()
    tried = _paid(tried, answer)
    contract = generation_contract(
        numbers, scratchpad=draft.problem is not None, technology=material.technology
    )
    reading = read_object(answer.reply, contract)
    if reading.outcome == "refused" and draft.problem is not None:
        return replace(tried, ended="refused", reason=reading.detail or "")
    if reading.outcome != "read":
        return replace(tried, reason=f"repair: {reading.problem}: {reading.detail or ''}")
    anew = read_blocks(reading.value, numbers, material=material.text, technology=_terms(work))
    mended = {block.number: block for block in draft.blocks}
    for block in anew:
        before = mended.get(block.number)
        # A prompt whose label alone was at fault stands where its repair brought nothing better.
        if before is None or block.is_usable or not before.is_usable:
            mended[block.number] = block
    blocks = tuple(mended[number] for number in sorted(mended))
    return replace(tried, blocks=blocks, problem=None, reason="")


def _ended_by(error: ProviderError) -> BundleStatus:
    return "refused" if error.fault == "content_policy" else "failed"


def _terms(work: Construction) -> re.Pattern[str] | None:
    return work.technology if work.material.technology else None


def _paid(draft: Draft, answer: Answer) -> Draft:
    paid = cost_of([answer])
    cost = None if draft.cost_usd is None or paid is None else draft.cost_usd + paid
    return replace(draft, calls=draft.calls + 1, cost_usd=cost)
