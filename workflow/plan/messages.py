"""Shorten Snakemake's own messages: after a step's message, nothing repeats that the step failed."""

import logging

REASON = 160  # characters that are kept of the reason for a job
NO_METADATA = "missing provenance/metadata", "Rules with missing metadata"  # of files that no job makes


class Shortened(logging.Filter):
    """Drop or shorten records of Snakemake's logger."""

    def filter(self, record: logging.LogRecord) -> bool:
        event = getattr(getattr(record, "event", None), "value", None)
        said = str(record.msg)
        if event == "job_info" and len(reason := str(getattr(record, "reason", None) or "")) > REASON:
            kept = reason[:REASON].rpartition(", ")[0] or reason.partition(", ")[0]
            left = reason[len(kept) + 2 :]
            record.reason = f"{kept}, and {left.count(', ') + 1} more" if left else kept
        if event == "job_error" and not getattr(record, "rule_msg", None):  # else Slurm's message
            log = ", ".join(getattr(record, "log", ()))
            record.msg = f"{getattr(record, 'rule_name', '')} failed" + (f": see {log}" if log else "")
            record.__dict__["event"] = None
        # A step that ends itself has said why; one that was killed has not.
        if event == "error" and said.startswith("RuleException:\nCalledProcessError") and "exit status 1." in said:
            return False
        return not any(part in said for part in NO_METADATA)


def shorten(logger: logging.Logger) -> None:
    if not any(isinstance(one, Shortened) for one in logger.filters):
        logger.addFilter(Shortened())
