"""How to start an API: each backend is a module with `start`, which `service/boot.py` loads when it is chosen."""
