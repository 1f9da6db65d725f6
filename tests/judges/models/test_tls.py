"""Endpoints behind TLS, as every provider's is, on the package's event loop and on asyncio's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from transport_world import PROTOCOLS, VOTE, backend, outcome, request

from areopagus.errors import ProviderError
from areopagus.testing import Fault, ProviderServer, ServedReply, constant
from areopagus.testing.server import served_with

pytestmark = [pytest.mark.both_loops, pytest.mark.usefixtures("clients", "key")]
LANES = ("auto", "litellm")
BREAKS = (
    Fault.RESET_BEFORE_ANSWER,
    Fault.CLOSE_BEFORE_ANSWER,
    Fault.RESET_MID_BODY,
    Fault.CLOSE_MID_BODY,
    Fault.HANG,
    Fault.TRICKLE,
    Fault.HUGE,
    Fault.SERVER_ERROR,
)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def behind_tls(authority: trustme.CA, tmp_path: Path) -> Iterator[ProviderServer]:
    certificate = tmp_path / "server.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
    with ProviderServer(trickle_s=0.05, tls=served_with(certificate)) as running:
        yield running


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("model", PROTOCOLS)
async def test_calls_at_once_are_each_answered_once(
    behind_tls: ProviderServer, model: str, lane: str
) -> None:
    behind_tls.judge = lambda asked: ServedReply(VOTE)
    asked = backend(model, behind_tls.bases[PROTOCOLS[model]], lane=lane)
    for _ in range(2):  # the second time over connections that are open
        calls = (asked.send(request(asked, f"Text {number}.")) for number in range(30))
        assert {reply.text for reply in await asyncio.gather(*calls)} == {VOTE}
    assert behind_tls.counts.total == 60


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("model", ["openai/x", "hosted_vllm/x", "anthropic/claude-sonnet-4-5"])
@pytest.mark.parametrize("fault", BREAKS)
async def test_what_breaks_is_the_fault_that_it_is_without_tls(
    behind_tls: ProviderServer, model: str, lane: str, fault: Fault
) -> None:
    patience = 0.6 if fault in (Fault.HANG, Fault.TRICKLE) else 20.0
    found = []
    with ProviderServer(trickle_s=0.05) as plain:
        for server in (plain, behind_tls):
            base = server.bases[PROTOCOLS[model]]
            asked = backend(model, base, lane=lane, timeout_s=patience)
            server.judge = lambda asked: ServedReply(VOTE)
            await asked.send(request(asked))
            server.judge = constant(fault)
            failed = await outcome(asked)
            found.append(failed[0] if isinstance(failed, tuple) else failed.text)
            assert server.counts.total == 2, "one send is one request"
            server.judge = lambda asked: ServedReply(VOTE)
            assert (await asked.send(request(asked))).text == VOTE
    assert found[0] == found[1]


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("model", ["openai/x", "hosted_vllm/x"])
async def test_a_call_whose_time_is_up_leaves_no_connection(
    behind_tls: ProviderServer, model: str, lane: str
) -> None:
    behind_tls.judge = lambda asked: ServedReply(VOTE)
    asked = backend(model, behind_tls.openai_base, lane=lane)
    await asked.send(request(asked))
    behind_tls.judge = constant(Fault.HANG)
    asked = backend(model, behind_tls.openai_base, lane=lane, timeout_s=0.4)
    with pytest.raises(ProviderError, match="timeout"):
        await asked.send(request(asked))
    async with asyncio.timeout(5):
        while not behind_tls.counts.abandoned:  # noqa: ASYNC110 - it is counted in a thread
            await asyncio.sleep(0.01)
    assert behind_tls.counts.abandoned == 1


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("model", PROTOCOLS)
async def test_a_certificate_that_nobody_vouches_for_is_sent_nothing(
    behind_tls: ProviderServer, model: str, lane: str
) -> None:
    asked = backend(model, behind_tls.bases[PROTOCOLS[model]], lane=lane)
    with pytest.raises(ProviderError, match=r"(?i)certificate") as caught:
        await asked.send(request(asked))
    assert caught.value.fault == "connection"
    assert not caught.value.may_be_billed
    assert behind_tls.counts.total == 0
