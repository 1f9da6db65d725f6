"""Several nodes of a Ray cluster on loopback addresses of this machine."""

from __future__ import annotations

from typing import Any

from areopagus.testing import ProviderServer

HEAD = "127.0.0.2"
KEY = "canary-key-4b1"
KEY_VARIABLE = "ENGINE_TEST_SECRET"


def model(provider: ProviderServer, **settings: Any) -> dict[str, Any]:
    """A backend whose key the nodes have."""
    return {
        "model": "openai/x",
        "api_base": provider.openai_base,
        "api_key_env": KEY_VARIABLE,
        "concurrency": 16,
        **settings,
    }


class LoopbackCluster:
    """A head and nodes, each a set of processes with an address of its own."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        # The head's node only holds the driver and the coordinator, so that any node may be killed.
        self._cluster = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 0,
                "node_ip_address": HEAD,
                "include_dashboard": False,
                "object_store_memory": 80_000_000,
            },
        )
        self.address: str = self._cluster.address
        self._last = 2
        self.nodes: list[Any] = []

    def add(self) -> Any:
        """One more node, with one processor."""
        self._last += 1
        node = self._cluster.add_node(
            num_cpus=1,
            node_ip_address=f"127.0.0.{self._last}",
            object_store_memory=80_000_000,
        )
        self.nodes.append(node)
        return node

    def keep(self, number: int) -> None:
        """Adds nodes until there are so many."""
        while len(self.nodes) < number:
            self.add()

    def kill(self, node: Any) -> None:
        """Ends a node's processes without a word, as when a machine fails."""
        self.nodes.remove(node)
        self._cluster.remove_node(node, allow_graceful=False)

    def shutdown(self) -> None:
        """Ends all nodes."""
        self._cluster.shutdown()
