"""The worker: child processes for what is foreign and not Python.

SQLite on a model's query, PDF files, JSON schemas of MCP servers, logs and tables of strangers.
`jobs` lists the functions, `host` calls them, `child` is the program of the process, `wire` carries
messages; `sql`, `pdf` and `schemas` hold functions; those of logs and tables are elsewhere.

Guaranteed: a call ends within its time and CPU time; it takes no more memory than its job allows
(Linux); it cannot reach the network where the kernel lets an unprivileged process unshare it; it
holds no variable of the user's environment but PATH, HOME, TZ and LD_LIBRARY_PATH; a process that
is killed, fills its memory or answers garbage fails its own call, and the next call has a new one.
Jobs that are sealed open no file after their code is loaded; no job but these reads for others, as
each has processes of its own. Not guaranteed: that the process of a job that is not sealed reads no
file of the user's, if a hole in a parser gives its input control; that a sealed process keeps two
episodes apart then; anything of this outside Linux but the limits of time.
"""
