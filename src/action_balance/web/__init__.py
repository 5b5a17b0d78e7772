"""Pages: templates, scripts, styles, the local server."""
