"""A stranger's package: a command, an exporter, a reader of logs and a statistic."""
