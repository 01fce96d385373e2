"""The measures, one module per family. Each family has its macros in sql/measures under the same name.

May import core.
"""
