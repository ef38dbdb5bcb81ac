"""What keeps the flow going and the machine tidy: reaper, reconciler, leases, serial gate, maintenance."""

from pydantic import BaseModel, Field

from orchestrator.config.groups.runners import SCOPE
from orchestrator.config.kinds import Count, Days, Delay, Interval, Positive, Seconds


class Upkeep(BaseModel):
    """Recovery, order of intake, housekeeping and the watchdog."""

    reaper_enabled: bool = Field(True, description="End jobs whose owner died. †")
    reaper_interval_s: Interval = Field(30, description="Seconds between looks. †")
    reaper_dead_ticks: Positive = Field(2, description="Looks in a row that must find the process dead. †")
    reaper_finalize_grace_s: Delay = Field(120, description="Seconds a finished run has to settle its job. †")
    reaper_max_running_s: Seconds = Field(
        5400, description="Seconds after which any job and any lease is ended; must exceed the longest run."
    )
    reaper_finalizer_liveness_enabled: bool = Field(
        True,
        description="Leave a finished run alone while its edge gates are at work (ORCH-113). †",
    )
    lease_reclaim_enabled: bool = Field(True, description="Take merge leases back from dead holders. †")
    transition_lease_enabled: bool = Field(
        True,
        description="One actor at a time in regions with irreversible effects (ORCH-114). †",
    )
    transition_lease_repos: str = Field("", description=SCOPE)
    reconcile_enabled: bool = Field(True, description="Find and repair what a lost event left behind. †")
    reconcile_plane_enabled: bool = Field(True, description="Also poll the tracker for lost events. †")
    reconcile_skip_blocked_enabled: bool = Field(
        True, description="Leave items alone that are Blocked or Needs Input. †"
    )
    reconcile_interval_s: Interval = Field(30, description="Seconds between passes. †")
    reconcile_grace_s: Delay = Field(
        60, description="Seconds an item must have stood still before it is looked at. †"
    )
    reconcile_notify_unblock: bool = Field(True, description="Alert when an item was set going again. †")
    serial_gate_enabled: bool = Field(
        True,
        description="Start an item only when no other item of its repository is active. †",
    )
    serial_gate_repos: str = Field(
        "",
        description="Repositories it applies to, separated by commas. Empty: every repository. †",
    )
    serial_gate_strict: bool = Field(False, description="Items on hold occupy the place too. †")
    stop_enabled: bool = Field(True, description="Let a person stop an item. †")
    auto_labels_enabled: bool = Field(True, description="Keep a few labels in the tracker true. †")
    lessons_enabled: bool = Field(True, description="Keep the journal of deviations. †")
    fs_ownership_enabled: bool = Field(
        True, description="Report files in the data directory that belong to somebody else. †"
    )
    disk_monitor_enabled: bool = Field(True, description="Pause new jobs when the disk is nearly full. †")
    disk_warn_free_mb: Count = Field(2048, description="Free megabytes below which an alert is sent. †")
    disk_min_free_mb: Count = Field(512, description="Free megabytes below which no job is claimed. †")
    cache_prune_enabled: bool = Field(
        True, description="Remove worktrees, caches and logs of finished items. †"
    )
    cache_max_age_days: Days = Field(14, description="Age at which they are removed. †")
    cache_max_size_mb: Count = Field(
        10_240, description="Size in megabytes above which the oldest are removed. †"
    )
    watchdog_interval_s: Interval = Field(30, description="Seconds between probes of `orch watchdog`. †")
    watchdog_failures: Positive = Field(3, description="Failed probes in a row before it acts. †")
    watchdog_restart_command: str = Field(
        "", description="Command that restarts the service. Empty: alert only. †"
    )
