"""Each sample counts once, by the mean of its finished repeats."""

from agent_env.scoring.sample_means import SampleMeans


def means_of(*values):
    means = SampleMeans()
    for sample, value in values:
        means.add(sample, value)
    return means


def test_each_sample_counts_once_or_has_no_mean():
    assert means_of(("a", 1.0), ("a", 1.0), ("a", 1.0), ("b", 0.0)).mean == 0.5
    assert means_of(("a", 1.0), ("a", 0.0), ("b", 0.0)).by_sample == {"a": 0.5, "b": 0.0}
    means = means_of(("a", 3.0), ("a", None), ("b", 1.0))
    assert (means.mean, means.of("a"), means.of("b"), means.is_known) == (1.0, None, 1.0, False)
    assert (SampleMeans().mean, SampleMeans().of("a")) == (None, None)
    assert means_of(("a", None)).mean is None
