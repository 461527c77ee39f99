"""What a Kubernetes API server does with requests, in memory.

The parts of ``simulation.store`` and ``simulation.api_server``: storage with
resource versions, the rules of each kind, and the HTTP face. Nothing here knows
this product; a test that passes on it should pass on a real API server.
"""
