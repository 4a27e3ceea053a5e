"""One question about many clusters or scenarios, answered by the workers of an existing executor.

from concurrent.futures import ProcessPoolExecutor
from planner import check
from planner.fleet import Question, Task, answers

tasks = [Task(name, "", Question(check, (f"{name}.json",))) for name in ("eu", "us")]
for row in answers(tasks, ProcessPoolExecutor(2)):
    print(row.cluster, row.reply.figures)
"""

from planner.fleet.engine import Row, answers
from planner.fleet.tasks import Question, Reply, Task
from planner.fleet.workers import Given

__all__ = ["Given", "Question", "Reply", "Row", "Task", "answers"]
