"""Ray: joining a cluster, or starting one on this machine, and what comes of asking it.

Whoever reaches an open Ray cluster runs code on it. So tokens are demanded: a cluster started here
gets one of its own, and one elsewhere must have been started with tokens. Ray's usage statistics
are off.
"""

from __future__ import annotations

import gc
import os
import secrets
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault, StoreError
from ..judges.models.credentials import redact

_WHERE = "ray"


def ray_module() -> Any:
    """Ray, imported with its usage statistics off.

    Raises:
        InputError: it is not installed.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Ray's own next default, which it would otherwise announce at every start.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Its handler of crashes would take SIGTERM too, and abort after three seconds a run that is
    # still keeping what is in flight. Ray reads this when it is imported.
    os.environ.setdefault("RAY_DISABLE_FAILURE_SIGNAL_HANDLER", "1")
    try:
        import ray  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise InputError(
            [InputFault("`engine`", "needs Ray: pip install 'areopagus[ray]'")]
        ) from None
    return ray


def demand_token(environment: MutableMapping[str, str], *, starts_cluster: bool) -> None:
    """Switches token authentication on, in the environment of this process.

    Args:
        environment: `os.environ`.
        starts_cluster: whether a new cluster is started, which may get a new token.

    Raises:
        InputError: a cluster elsewhere is to be joined, and there is no token for it; or the file
            that is to hold the token does not.
    """
    environment["RAY_AUTH_MODE"] = "token"
    if environment.get("RAY_AUTH_TOKEN"):
        return
    if named := environment.get("RAY_AUTH_TOKEN_PATH"):
        if fault := _token_file_fault(Path(named)):
            raise InputError([InputFault("RAY_AUTH_TOKEN_PATH", f"names {named}, {fault}")])
        return
    if (Path.home() / ".ray" / "auth_token").is_file():
        return
    if not starts_cluster:
        raise InputError(
            [
                InputFault(
                    _WHERE,
                    "must be given the cluster's token, in RAY_AUTH_TOKEN or a file named by "
                    "RAY_AUTH_TOKEN_PATH; see docs/guides/scaling.md",
                )
            ]
        )
    environment["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def _token_file_fault(path: Path) -> str | None:
    try:
        return None if path.read_bytes().strip() else "which is empty"
    except OSError as error:
        return f"which cannot be read: {error.strerror}"


@contextmanager
def _command_line_kept_back(ray: Any) -> Iterator[None]:
    """Meanwhile Ray does not see this process's command line.

    It would put all of it into the cluster's list of jobs, with the password of a ledger's address.
    There is no setting for that.
    """
    utils = ray._private.utils
    whole = utils.get_entrypoint_name
    utils.get_entrypoint_name = lambda: "areopagus"
    try:
        yield
    finally:
        utils.get_entrypoint_name = whole


@dataclass(slots=True)
class Cluster:
    """A connection to a cluster.

    Attributes:
        ray: the module.
        is_ours: whether this connection is closed with the job.
    """

    ray: Any
    is_ours: bool

    @classmethod
    def connect(cls, address: str | None, *, cpus: int | None, driver_ip: str | None) -> Cluster:
        """Joins the cluster at an address, or starts one on this machine.

        Raises:
            InputError: Ray is missing, there is no token, or nobody answers.
        """
        if "ray" in sys.modules and os.environ.get("RAY_AUTH_MODE") != "token":
            late = "was imported without tokens: set RAY_AUTH_MODE=token before Python starts"
            raise InputError([InputFault(_WHERE, late)])
        demand_token(os.environ, starts_cluster=address is None)
        ray = ray_module()
        if ray.is_initialized():
            return cls(ray, is_ours=False)
        common = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
        try:
            with _command_line_kept_back(ray):
                if address is None:
                    # "local": no cluster that happens to run here, or RAY_ADDRESS, is joined.
                    ray.init("local", num_cpus=cpus, _node_ip_address="127.0.0.1", **common)
                else:
                    named = {} if driver_ip is None else {"_node_ip_address": driver_ip}
                    common.pop("include_dashboard")
                    ray.init(address=address, **named, **common)
        # An empty ~/.ray/auth_token, among others, is an error of Ray's own.
        except (
            ConnectionError,
            RuntimeError,
            TimeoutError,
            ValueError,
            ray.exceptions.RayError,
        ) as error:
            first = str(error).strip().split("\n", 1)[0]
            # Ray does not say which of the two it was.
            hint = address and "Is the cluster up, and is the token that of the cluster?"
            fault = InputFault(address or _WHERE, f"no cluster: {first}")
            raise InputError([fault], hint=hint) from error
        return cls(ray, is_ours=True)

    def nodes(self) -> list[tuple[str, str]]:
        """(id, address) of the living nodes that have processors to give."""
        return [
            (node["NodeID"], node["NodeManagerAddress"])
            for node in self.ray.nodes()
            if node["Alive"] and node["Resources"].get("CPU", 0) > 0
        ]

    def processors(self) -> int:
        """Processors of all living nodes."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def on_node(self, node: str) -> Any:
        """The scheduling that puts something on this node and nowhere else."""
        from ray.util.scheduling_strategies import (  # pyright: ignore[reportMissingImports]
            NodeAffinitySchedulingStrategy,
        )

        return NodeAffinitySchedulingStrategy(node_id=node, soft=False)

    def close(self) -> None:
        """Leaves the cluster, and ends it where it was started here."""
        if self.is_ours:
            # Ray's core ends the process when a reference to one of its objects goes while it is
            # taken down itself: what the collector would find then, in whatever thread, goes now.
            gc.collect()
            self.ray.shutdown()


async def answer(asked: Any, loss: str) -> Any:
    """What came of something that Ray was asked for.

    Args:
        asked: Ray's reference to it.
        loss: what it means that Ray could not have it done.

    Raises:
        StoreError: it is lost with the cluster.
        RuntimeError: a defect of what was asked.
    """
    from ray.exceptions import (  # pyright: ignore[reportMissingImports]
        RayError,
        RayTaskError,
    )

    try:
        return await asked
    except RayError as error:
        # Ray's own errors come as a cause too: of a plan that was lost on its way to the task, say.
        cause: Exception | None = getattr(error, "cause", None)
        if isinstance(error, RayTaskError) and not isinstance(cause, RayError | None):
            # Redacted and without the original: that holds everything that the other side said.
            what = redact(f"{type(cause).__name__}: {cause}")
            raise defect(what, *map(redact, str(error).splitlines())) from None
        reason = redact(str(error).strip().split("\n")[-1])
        raise StoreError(
            f"{loss} ({reason}); what was paid is in the ledger: give the same command again"
        ) from error


def defect(what: str, *where: str) -> RuntimeError:
    """The error that tells of a defect in another process."""
    error = RuntimeError(what)
    error.add_note("\n".join(where))
    return error
