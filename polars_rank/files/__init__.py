"""Files and Python objects to tables, and tables to files.

May import core.
"""
