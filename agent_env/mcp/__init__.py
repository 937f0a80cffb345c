"""MCP: the client, which lets a run's conditions use the tools of MCP servers.

`launch` starts a server's process and ends it, `transport` carries messages and bounds them,
`connection` speaks the protocol by the official SDK (the extra `mcp`, imported where it is used),
`listing` reads the tools, `results` makes text of what calls give, `hosts` keeps servers running
while a run goes on.
"""
