"""One partition's replicas: leadership, high watermark, what waits for it. Reaches files only through log.Log."""
