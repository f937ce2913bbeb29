"""The modules for agent frameworks, each with its real package: tests/client/test_frameworks.py runs them.

By hand, with a memorybus that runs: MEMORYBUS_TEST_URLS="http://… nats://…" .venv-frameworks/bin/python -m pytest
-c tests/frameworks/pytest.ini tests/frameworks
"""
