"""One partition's bytes on disk. Reaches files only through the Disk port, and knows no network."""
