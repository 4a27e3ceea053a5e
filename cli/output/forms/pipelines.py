"""Cases as pipelines read them: GitHub's workflow commands, GitLab's code quality, JUnit's XML."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from cli.output.junit_cases import JUnitCase

#: Where a workload's manifest is: (namespace, Kind/name) to a file.
Places = Mapping[tuple[str, str], str]
#: What XML 1.0 cannot say at all.
_UNSAYABLE = {number: None for number in range(32) if chr(number) not in "\t\n\r"}


def github(cases: Iterable[JUnitCase], notes: Iterable[str], places: Places) -> Iterator[str]:
    """An annotation for everything that is wrong, and a notice for every note."""
    for case in cases:
        if case.wrong:
            file = places.get((case.namespace, case.subject))
            words = {**({"file": file} if file else {}), "title": f"{_whose(case)}: {case.what}"}
            properties = ",".join(f"{key}={_property(text)}" for key, text in words.items())
            yield f"::error {properties}::{_data(case.wrong)}"
    yield from (f"::notice title=planner::{_data(note)}" for note in notes)


def gitlab(cases: Iterable[JUnitCase], places: Places) -> str:
    """A code quality report: what is wrong, each in the file that it was made with."""
    return json.dumps(
        [
            {
                "description": f"{_whose(case)}: {case.wrong}",
                "check_name": case.what,
                "fingerprint": _fingerprint(case),
                "severity": "major",
                "location": {
                    "path": places.get((case.namespace, case.subject), _whose(case)),
                    "lines": {"begin": 1},
                },
            }
            for case in cases
            if case.wrong
        ],
        indent=2,
    )


def junit(cases: Sequence[JUnitCase], suite: str) -> Iterator[str]:
    """A suite with a test for every case."""
    failures = sum(bool(case.wrong) for case in cases)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<testsuites name="planner" tests="{len(cases)}" failures="{failures}">'
    yield f'  <testsuite name={_quoted(suite)} tests="{len(cases)}" failures="{failures}" errors="0">'
    for case in cases:
        head = f"    <testcase classname={_quoted(case.what)} name={_quoted(_whose(case))}"
        if not case.wrong:
            yield f"{head}/>"
            continue
        yield f"{head}>"
        told = escape(case.wrong.translate(_UNSAYABLE))
        yield f"      <failure message={_quoted(case.wrong)}>{told}</failure>"
        yield "    </testcase>"
    yield "  </testsuite>"
    yield "</testsuites>"


def _whose(case: JUnitCase) -> str:
    return f"{case.subject} in {case.namespace}" if case.namespace else case.subject


def _fingerprint(case: JUnitCase) -> str:
    """The same as long as the same thing is wrong, however many runs or pods it is."""
    known = "\0".join((case.what, case.namespace, case.subject))
    return hashlib.sha256(known.encode()).hexdigest()[:32]


def _quoted(text: str) -> str:
    return quoteattr(text.translate(_UNSAYABLE))


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
