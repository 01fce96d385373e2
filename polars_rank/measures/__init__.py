"""The measures, a module a family; each has its twin in sql/ under the same stem."""
