"""Cluster centroids of labels, as in the published pipeline (paper, Appendix E).

One-dimensional HDBSCAN of scikit-learn. The distances to the k-th neighbour and the minimum
spanning tree are computed here from the distinct values, which are few: scikit-learn's public class
keeps n · k distances (1 GB for the 14,000 labels in years) and compares all pairs. It is used where
scikit-learn's internal functions have moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent_env.errors import ConfigError
from agent_env.families.temp_answers.scoring.paper_dates import NEEDS_EXTRA

SHARE = 0.3
"""Of the labels, the smallest cluster."""


@dataclass(frozen=True, slots=True)
class Clustering:
    """Clusters of labels."""

    centroids: tuple[float, ...]
    labels: tuple[int, ...]
    """Each label's cluster; for a noise point that of the nearest centroid."""

    def own(self) -> list[float]:
        """The centroid of each label's cluster."""
        return [self.centroids[label] for label in self.labels]


def given_centroids(values: Sequence[float], centroids: Sequence[float]) -> Clustering:
    """Each label assigned to the nearest of the given centroids."""
    nearest = [min(range(len(centroids)), key=lambda k: abs(centroids[k] - v)) for v in values]
    return Clustering(tuple(centroids), tuple(nearest))


def cluster(values: Sequence[float]) -> Clustering:
    """Clusters of the labels, whose order affects the published result slightly. One cluster at
    their mean where 0.3 · n is below 2, or where all labels are noise."""
    size = int(len(values) * SHARE)
    if size <= 1:
        return _one(values)
    try:
        import numpy as np
    except ModuleNotFoundError:
        raise ConfigError(NEEDS_EXTRA) from None
    array = np.asarray(values, dtype=np.float64)
    labels, strengths = _labels(array, size)
    count = int(labels.max()) + 1
    if count <= 0:
        return _one(values)
    centroids = np.array(
        [np.average(array[labels == k], weights=strengths[labels == k]) for k in range(count)]
    )
    noise = labels < 0
    labels[noise] = np.abs(centroids[:, None] - array[noise]).argmin(axis=0)
    return Clustering(tuple(centroids.tolist()), tuple(labels.tolist()))


def _one(values: Sequence[float]) -> Clustering:
    mean = sum(values) / len(values)
    return Clustering((mean,), (0,) * len(values))


def _labels(array: Any, size: int) -> tuple[Any, Any]:
    """Cluster numbers (-1 for noise) and strengths of membership."""
    try:
        from sklearn.cluster._hdbscan._linkage import MST_edge_dtype, make_single_linkage
        from sklearn.cluster._hdbscan._tree import tree_to_labels
    except ModuleNotFoundError as exc:
        if (exc.name or "").split(".")[0] == "sklearn" and not _has_sklearn():
            raise ConfigError(NEEDS_EXTRA) from None
        return public_labels(array, size)
    except ImportError:
        return public_labels(array, size)
    tree = spanning_tree(array, core_distances(array, size), MST_edge_dtype)
    linkage = make_single_linkage(tree[tree["distance"].argsort()])
    labels, strengths = tree_to_labels(linkage, size, "eom", True, 0.0, None)
    return labels, strengths


def _has_sklearn() -> bool:
    from importlib.util import find_spec

    return find_spec("sklearn") is not None


def public_labels(array: Any, size: int) -> tuple[Any, Any]:
    """The same by scikit-learn's public class; needs memory for n · size distances."""
    from sklearn.cluster import HDBSCAN

    model = HDBSCAN(min_cluster_size=size, allow_single_cluster=True, copy=True)
    model.fit(array.reshape(-1, 1))
    return model.labels_.copy(), model.probabilities_


def core_distances(array: Any, size: int) -> Any:
    """Each label's distance to its size-th nearest, itself included: the reach of the best window
    of `size` sorted values around it."""
    import numpy as np

    order = np.argsort(array, kind="stable")
    ordered = array[order]
    n = len(ordered)
    reach = np.empty(n)
    low = 0
    for k in range(n):
        low = max(low, k - size + 1, 0)
        while (
            low + size < n
            and low < k
            and ordered[low + size] - ordered[k] < (ordered[k] - ordered[low])
        ):
            low += 1
        low = min(low, n - size)
        reach[k] = max(ordered[k] - ordered[low], ordered[low + size - 1] - ordered[k])
    core = np.empty(n)
    core[order] = reach
    return core


def spanning_tree(array: Any, core: Any, dtype: Any) -> Any:
    """The minimum spanning tree of the mutual reachability distances by Prim's algorithm from the
    first label, its edges in the order and with the ties of scikit-learn: of several nearest labels
    the first in the list. Equal labels have equal distances, so they are compared once."""
    import numpy as np

    distinct, inverse = np.unique(array, return_inverse=True)
    members = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1])
    queues = [own.tolist()[::-1] for own in members]
    cores = np.array([core[queue[-1]] for queue in queues])
    reach, source = np.full(len(distinct), np.inf), np.zeros(len(distinct), dtype=np.int64)
    heads = np.array([queue[-1] for queue in queues])
    visited = np.zeros(len(distinct), dtype=bool)
    tree = np.empty(len(array) - 1, dtype=dtype)
    group, node = int(inverse[0]), 0
    for k in range(len(array)):
        if k:
            nearest = np.flatnonzero(reach == reach.min())
            group = int(nearest[heads[nearest].argmin()])
            node = queues[group][-1]
            tree[k - 1] = (source[group], node, reach[group])
        queues[group].pop()
        if not visited[group]:
            visited[group] = True
            distance = np.maximum(
                np.abs(distinct - distinct[group]), np.maximum(cores, cores[group])
            )
            nearer = distance < reach
            reach[nearer] = distance[nearer]
            source[nearer] = node
        if queues[group]:
            heads[group] = queues[group][-1]
        else:  # all its labels are in the tree
            reach[group], cores[group] = np.inf, np.inf
    return tree
