"""Run and qrels to the judged table: joining, attributes, subtopics, health checks.

May import core and measures.
"""
