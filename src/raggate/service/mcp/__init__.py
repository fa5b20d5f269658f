"""The Model Context Protocol, as far as a tool is called by it: messages, sessions, and a server behind two pipes."""
