"""Reports of studies: one page for a browser, and pictures for documents."""
