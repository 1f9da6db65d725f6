"""Endpoints behind TLS, as every provider's is, on the package's event loop and on asyncio's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from transport_world import PROTOCOLS, VOTE, WAYS, backend, outcome, request

from areopagus.errors import ProviderError
from areopagus.testing import Fault, ProviderServer, constant
from areopagus.testing.server import served_with

pytestmark = [pytest.mark.both_loops, pytest.mark.usefixtures("clients", "key")]
FIRST, *OTHERS = WAYS
SLOW = (Fault.HANG, Fault.TRICKLE)
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


@pytest.fixture(scope="module")
def running(
    authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProviderServer]:
    certificate = tmp_path_factory.mktemp("tls") / "server.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
    with ProviderServer(trickle_s=0.05, tls=served_with(certificate)) as server:
        yield server


@pytest.fixture
def behind_tls(running: ProviderServer) -> ProviderServer:
    running.reset()
    running.judge = constant(VOTE)
    return running


@pytest.fixture(scope="module")
def plain() -> Iterator[ProviderServer]:
    with ProviderServer(trickle_s=0.05) as server:
        yield server


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(("model", "lane"), WAYS)
async def test_calls_at_once_are_each_answered_once(
    behind_tls: ProviderServer, model: str, lane: str
) -> None:
    asked = backend(model, behind_tls.bases[PROTOCOLS[model]], lane=lane)
    for _ in range(2):  # the second time over connections that are open
        calls = (asked.send(request(asked, f"Text {number}.")) for number in range(12))
        assert {reply.text for reply in await asyncio.gather(*calls)} == {VOTE}
    assert behind_tls.counts.total == 24


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(
    ("model", "lane", "fault"),
    [
        *((*FIRST, fault) for fault in BREAKS),
        *((*way, fault) for way in OTHERS for fault in (Fault.RESET_MID_BODY, Fault.HANG)),
    ],
)
async def test_what_breaks_is_the_fault_that_it_is_without_tls(
    behind_tls: ProviderServer, plain: ProviderServer, model: str, lane: str, fault: Fault
) -> None:
    found = []
    for server in (plain, behind_tls):
        server.reset()
        base = server.bases[PROTOCOLS[model]]
        well = backend(model, base, lane=lane)
        asked = backend(model, base, lane=lane, timeout_s=0.4 if fault in SLOW else 20.0)
        server.judge = constant(VOTE)
        await well.send(request(well))
        server.judge = constant(fault)
        failed = await outcome(asked)
        found.append(failed[0] if isinstance(failed, tuple) else failed.text)
        assert server.counts.total == 2, "one send is one request"
        server.judge = constant(VOTE)
        assert (await well.send(request(well))).text == VOTE
    assert found[0] == found[1]


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(("model", "lane"), WAYS)
async def test_a_call_whose_time_is_up_leaves_no_connection(
    behind_tls: ProviderServer, model: str, lane: str
) -> None:
    base = behind_tls.bases[PROTOCOLS[model]]
    asked = backend(model, base, lane=lane)
    await asked.send(request(asked))
    behind_tls.judge = constant(Fault.HANG)
    asked = backend(model, base, lane=lane, timeout_s=0.3)
    with pytest.raises(ProviderError, match="timeout"):
        await asked.send(request(asked))
    async with asyncio.timeout(5):
        while not behind_tls.counts.abandoned:  # noqa: ASYNC110 - it is counted in a thread
            await asyncio.sleep(0.01)
    assert behind_tls.counts.abandoned == 1


@pytest.mark.parametrize(("model", "lane"), WAYS)
async def test_a_certificate_that_nobody_vouches_for_is_sent_nothing(
    behind_tls: ProviderServer, model: str, lane: str
) -> None:
    asked = backend(model, behind_tls.bases[PROTOCOLS[model]], lane=lane)
    with pytest.raises(ProviderError, match=r"(?i)certificate") as caught:
        await asked.send(request(asked))
    assert caught.value.fault == "connection"
    assert not caught.value.may_be_billed
    assert behind_tls.counts.total == 0
