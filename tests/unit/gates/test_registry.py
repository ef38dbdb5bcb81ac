"""The registry names fourteen gates, and binding keeps every one."""

import inspect

from orchestrator.gates import QG_CHECKS, bind
from orchestrator.pipeline.gates import EXIT_GATES, GateName


def test_the_registry_has_exactly_the_fourteen_names():
    assert len(QG_CHECKS) == 14
    assert set(QG_CHECKS) == set(GateName)


def test_every_exit_gate_is_registered():
    assert {gate for gates in EXIT_GATES.values() for gate in gates} <= set(QG_CHECKS)


def test_every_check_is_a_coroutine_function_of_its_own():
    assert all(inspect.iscoroutinefunction(check) for check in QG_CHECKS.values())
    assert len(set(QG_CHECKS.values())) == 14


def test_bound_gates_have_the_names_of_the_registry(bench):
    assert set(bind(bench.tools)) == set(QG_CHECKS)
