"""Settings that are accepted because their names are contracts, but that no code reads yet.

Whoever sets one is told so, and the page of the settings says it too; a test keeps this list equal to what
the source really does not read.
"""

from typing import Final

WITHOUT_EFFECT: Final = frozenset(
    {
        *("api_tokens", "projects_json", "subprocess_tree_kill_enabled"),
        *("plane_base_url", "plane_workspace", "plane_api_token", "plane_webhook_secret"),
        *("plane_test_write_enabled", "plane_test_sandbox_projects"),
        *("gitea_base_url", "gitea_token", "gitea_webhook_secret"),
        *("staging_infra_tolerance_enabled", "merge_retest_target", "merge_retest_timeout_s"),
        *("merge_retest_infra_max_retries", "merge_lock_timeout_s"),
        *("reaper_enabled", "reaper_interval_s", "reaper_dead_ticks", "reaper_finalize_grace_s"),
        *("reaper_max_running_s", "reaper_finalizer_liveness_enabled", "lease_reclaim_enabled"),
        *("transition_lease_enabled", "transition_lease_repos"),
        *("reconcile_plane_enabled", "reconcile_skip_blocked_enabled", "reconcile_notify_unblock"),
        *("serial_gate_enabled", "serial_gate_repos", "serial_gate_strict"),
        *("stop_enabled", "auto_labels_enabled", "lessons_enabled", "fs_ownership_enabled"),
        *("disk_monitor_enabled", "disk_warn_free_mb"),
        *("cache_prune_enabled", "cache_max_age_days", "cache_max_size_mb"),
        *("watchdog_interval_s", "watchdog_failures", "watchdog_restart_command"),
    }
)
