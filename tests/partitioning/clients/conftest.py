import pytest

from partitioning.testing.mock_cluster import MockCluster
from tests.partitioning.clients.clusters import Cluster, mock


@pytest.fixture(
    params=[pytest.param("mock", marks=pytest.mark.live), pytest.param("broker", marks=pytest.mark.broker)]
)
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """Both the mock cluster and the real broker, one after the other."""
    if request.param == "broker":
        kafka = request.getfixturevalue("broker")
        return Cluster(kafka.bootstrap_servers, kafka.create_topic)
    return mock(request.getfixturevalue("mock_cluster"))


@pytest.fixture
def mocked(mock_cluster: MockCluster) -> Cluster:
    """The mock cluster, where a real broker would show nothing more."""
    return mock(mock_cluster)
