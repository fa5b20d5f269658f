"""Pages that a person opens on the same machine: a server on the loopback interface, and the page to label."""
