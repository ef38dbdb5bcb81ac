"""The readable part of the reports that deterministic code writes, in English or Russian.

No gate reads it. The headings are the ones from which the next round takes its fragment (inventory §11).
"""

from collections.abc import Iterable, Mapping
from typing import Final

from orchestrator.pipeline.artifacts import Producer
from orchestrator.pipeline.markdown import fenced
from orchestrator.pipeline.reports import Coverage, Deployment, Scan, StagingRun, Stamp, SuiteRun, Watch
from orchestrator.pipeline.wording import Language, Section, title_of

OUTPUT_TAIL: Final = 1500
"""Characters of output that a report keeps (ORCH-115 D6)."""

_TEXTS: Final[Mapping[Language, Mapping[str, str]]] = {
    Language.EN: {
        "test": "Test report",
        "staging": "Staging log",
        "deploy": "Deploy log",
        "watch": "Post-deploy log",
        "scan": "Security report",
        "coverage": "Coverage report",
        "author": "Written by the deterministic {author}. No language model judged this result.",
        "exit": "Exit code",
        "no_exit": "none",
        "smoke": "Smoke test",
        "address": "Address",
        "revision": "Revision",
        "output": "Output",
        "no_output": "The command printed nothing.",
        "waived": "Waived as infrastructure of the sandbox",
        "hook": "Hook",
        "hook_0": "deployed and healthy",
        "hook_1": "refused or failed before production changed",
        "hook_2": "production changed, was unhealthy and was rolled back",
        "hook_other": "no outcome that the hook is known to report",
        "window": "Window",
        "checks": "Checks, failed of all",
        "action": "Action",
        "observations": "Observations",
        "new": "New findings",
        "known": "Known findings (in the base already)",
        "scanners": "Scanners",
        "percent": "Coverage, %",
        "baseline": "Baseline, %",
        "epsilon": "Tolerance, percentage points",
        "diff": "Coverage of the changed lines, %",
        "none": "none",
    },
    Language.RU: {
        "test": "Отчёт о тестах",
        "staging": "Журнал стейджинга",
        "deploy": "Журнал выката",
        "watch": "Журнал наблюдения после выката",
        "scan": "Отчёт о безопасности",
        "coverage": "Отчёт о покрытии",
        "author": "Записал детерминированный {author}. Языковая модель этот результат не оценивала.",
        "exit": "Код завершения",
        "no_exit": "нет",
        "smoke": "Дымовая проверка",
        "address": "Адрес",
        "revision": "Ревизия",
        "output": "Вывод",
        "no_output": "Команда ничего не вывела.",
        "waived": "Прощено как инфраструктура песочницы",
        "hook": "Хук",
        "hook_0": "выкачено и здорово",
        "hook_1": "отказ или сбой до изменения продакшена",
        "hook_2": "продакшен изменён, был нездоров и возвращён назад",
        "hook_other": "такого исхода хук не сообщает",
        "window": "Окно",
        "checks": "Проверки, неудачные из всех",
        "action": "Действие",
        "observations": "Наблюдения",
        "new": "Новые находки",
        "known": "Известные находки (уже есть в базе)",
        "scanners": "Сканеры",
        "percent": "Покрытие, %",
        "baseline": "Базовый уровень, %",
        "epsilon": "Допуск, процентных пунктов",
        "diff": "Покрытие изменённых строк, %",
        "none": "нет",
    },
}


def test_report_body(stamp: Stamp, run: SuiteRun, language: Language) -> str:
    """The text of ``13-test-report.md``."""
    texts = _TEXTS[language]
    word = "PASS" if run.passed else "FAIL"
    failing = [_line(line) for line in run.output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return _page(
        _opening("test", stamp, Producer.TEST_RUNNER, texts),
        f"## {title_of(Section.SUMMARY, language)}",
        _told(f"**{word}**", run.note),
        f"## {title_of(Section.RESULTS, language)}",
        _bullets(
            [
                f"{texts['exit']}: {_code(run.exit_code, texts)}",
                f"{texts['smoke']}: {run.smoke.value}",
                *failing,
            ]
        ),
        f"## {title_of(Section.PYTEST_OUTPUT, language)}",
        _output(run.output, texts),
    )


def staging_log_body(stamp: Stamp, run: StagingRun, language: Language) -> str:
    """The text of ``15-staging-log.md``; what the suite waived is copied word for word (ORCH-061)."""
    texts = _TEXTS[language]
    waived = [line.strip() for line in run.output.splitlines() if line.lstrip().startswith("INFRA-WAIVED")]
    return _page(
        _opening("staging", stamp, Producer.STAGING_RUNNER, texts),
        f"## {title_of(Section.SUMMARY, language)}",
        _told(f"**{'SUCCESS' if run.passed else 'FAILED'}**", run.note),
        _bullets(
            [f"{texts['exit']}: {_code(run.exit_code, texts)}", f"{texts['address']}: {_line(run.base_url)}"]
        ),
        *([f"## {texts['waived']}", _bullets(waived)] if waived else []),
        f"## {texts['output']}",
        _output(run.output, texts),
    )


def deploy_log_body(stamp: Stamp, deployment: Deployment, language: Language) -> str:
    """The text of ``14-deploy-log.md``; the meaning of the hook's exit code is that of product §4."""
    texts = _TEXTS[language]
    code = deployment.hook_exit_code
    meaning = texts[f"hook_{code}" if code in (0, 1, 2) else "hook_other"]
    facts = [f"{texts['hook']}: {_code(code, texts)} ({meaning})"]
    if deployment.revision:
        facts.append(f"{texts['revision']}: `{_line(deployment.revision)}`")
    return _page(
        _opening("deploy", stamp, Producer.DEPLOY_FINALIZER, texts),
        f"## {title_of(Section.SUMMARY, language)}",
        _told(f"**{'SUCCESS' if deployment.passed else 'FAILED'}**", deployment.note),
        _bullets(facts),
        f"## {texts['output']}",
        _output(deployment.output, texts),
    )


def post_deploy_log_body(stamp: Stamp, watch: Watch, language: Language) -> str:
    """The text of ``16-post-deploy-log.md``."""
    texts = _TEXTS[language]
    return _page(
        _opening("watch", stamp, Producer.POST_DEPLOY_MONITOR, texts),
        f"## {title_of(Section.SUMMARY, language)}",
        f"**{'HEALTHY' if watch.healthy else 'DEGRADED'}**",
        _bullets(
            [
                f"{texts['action']}: {watch.action.value}",
                f"{texts['window']}: {watch.window}",
                f"{texts['checks']}: {watch.checks_failed} / {watch.checks_total}",
            ]
        ),
        f"## {texts['observations']}",
        _bullets(watch.observations) or texts["none"],
    )


def security_report_body(stamp: Stamp, scan: Scan, language: Language) -> str:
    """The text of ``09-security-report.md``."""
    texts = _TEXTS[language]
    return _page(
        _opening("scan", stamp, Producer.SECURITY_GATE, texts),
        f"## {title_of(Section.SUMMARY, language)}",
        _told(f"**{'PASS' if scan.passed else 'FAIL'}**", scan.note),
        _bullets([f"{texts['scanners']}: {', '.join(map(_line, scan.scanners)) or texts['none']}"]),
        f"## {texts['new']}",
        _bullets(scan.new) or texts["none"],
        f"## {texts['known']}",
        _bullets(scan.known) or texts["none"],
    )


def coverage_report_body(stamp: Stamp, coverage: Coverage, language: Language) -> str:
    """The text of ``11-coverage-report.md``."""
    texts = _TEXTS[language]
    return _page(
        _opening("coverage", stamp, Producer.COVERAGE_GATE, texts),
        f"## {title_of(Section.SUMMARY, language)}",
        _told(f"**{'PASS' if coverage.passed else 'FAIL'}**", coverage.note),
        _bullets(
            [
                f"{texts['percent']}: {coverage.percent:.2f}",
                f"{texts['baseline']}: {_figure(coverage.baseline, texts)}",
                f"{texts['epsilon']}: {coverage.epsilon:.2f}",
                f"{texts['diff']}: {_figure(coverage.diff_percent, texts)}",
            ]
        ),
    )


def _opening(title: str, stamp: Stamp, author: Producer, texts: Mapping[str, str]) -> str:
    heading = f"# {texts[title]}: {_line(stamp.work_item)}"
    return f"{heading}\n\n{texts['author'].format(author=author.value)}"


def _page(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _told(verdict: str, note: str) -> str:
    return f"{verdict}: {_line(note)}" if note.strip() else verdict


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {_line(line)}" for line in lines)


def _output(output: str, texts: Mapping[str, str]) -> str:
    tail = output.rstrip()[-OUTPUT_TAIL:]
    return fenced(tail) if tail.strip() else texts["no_output"]


def _code(code: int | None, texts: Mapping[str, str]) -> str:
    return texts["no_exit"] if code is None else str(code)


def _figure(value: float | None, texts: Mapping[str, str]) -> str:
    return texts["none"] if value is None else f"{value:.2f}"


def _line(text: str) -> str:
    return " ".join(text.split())
