"""The evaluation of decisions: its cases, the targets, and the page that shows both."""
